"""`retrograph checkpoints retain`, and what `serve` and `sweep` retain by their settings."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retrograph.cli_options import retention_rule
from retrograph.resolvers.retention import RetentionRule
from retrograph.resolvers.scope import Role, Scope
from retrograph.settings import Settings
from retrograph.storage.store import open_store
from tests.command import refused, retrograph
from tests.executions import Execution

DAY = 86_400 * 1_000_000
SIGNED = ("--by", "me", "--reason", "old")


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Two fleets with executions of 3 checkpoints."""
    path = str(tmp_path / "memory.db")
    with closing(open_store(path)) as store:
        store.write_all(1, [1, 2], lambda _: None)
        for fleet in (1, 2):
            Execution(Scope(store, 1, None, frozenset(Role)), fleet=fleet).grow(3)
    return path


def test_every_execution_of_every_fleet_is_retained(database: str) -> None:
    words = ("checkpoints", "retain", "--database", database, "--keep-checkpoints", "2", *SIGNED)
    told = "Fleet 1, 'run': 1\nFleet 2, 'run': 1\n"
    assert retrograph(*words, "--dry-run").output == f"{told}2 checkpoints would go.\n"
    assert retrograph(*words).output == f"{told}2 checkpoints went.\n"
    assert retrograph(*words).output == "0 checkpoints went.\n"
    young = (*words, "--keep-checkpoints-days", "1", "--keep-checkpoints", "1")
    assert retrograph(*young).output == "0 checkpoints went.\n"
    refused("CONFIGURATION", "checkpoints", "retain", "--database", database, *SIGNED)


def test_a_damaged_execution_is_named(database: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TRIGGER checkpoint_update")
        connection.execute(
            "UPDATE checkpoint SET session = 'x' WHERE fleet_id = 1 AND sequence = 1"
        )
        connection.execute("UPDATE execution SET key = CAST(x'ff' AS TEXT) WHERE fleet_id = 2")
    words = ("checkpoints", "retain", "--database", database, "--keep-checkpoints", "1", *SIGNED)
    tried, done = retrograph(*words, "--dry-run"), retrograph(*words)
    assert tried.exit_code == done.exit_code == 1
    assert tried.output == done.output.replace("went.", "would go.")
    first, second, last = done.output.splitlines()
    assert first.startswith("Fleet 1, 'run': [CHECKPOINT_DAMAGED] Checkpoint 1 ")
    assert second.startswith("Fleet 2, '\\udcff': [CHECKPOINT_DAMAGED]")
    assert last == "0 checkpoints went."
    told = retrograph("checkpoints", "check", "--database", database)
    assert told.exit_code == 1
    assert told.output.endswith("6 checkpoints, 4 would not load.\n")


def test_a_sweep_retains_by_the_settings(database: str) -> None:
    said = retrograph("sweep", "--database", database, "--keep-checkpoints", "1").stdout
    assert said == "Expired 0, executed 0, failed 0, removed 4.\n"


@pytest.mark.parametrize(
    ("last", "days", "rule"),
    [
        (0, 0, None),
        (5, 0, RetentionRule(5)),
        (0, 2, RetentionRule(1, 2 * DAY)),
        (5, 2, RetentionRule(5, 2 * DAY)),
    ],
)
def test_what_the_settings_mean(last: int, days: int, rule: RetentionRule | None) -> None:
    given = Settings(keep_checkpoints=last, keep_checkpoints_days=days)
    assert retention_rule(given) == rule
