"""Every T-SQL text that ships passes the gate."""

from __future__ import annotations

import re

from tests.shared import ROOT
from tests.tsql.catalogue import Catalogue
from tests.tsql.gate import check, check_schema
from tests.tsql.rules_tenant import predicates
from tests.tsql.texts import batches, migration_texts, query_texts
from tests.tsql.tree import Statement, parse

ON_SEVERAL_FLEETS = {"create_fleets", "move_clocks", "wait_for_clock"}
VERSIONED = (
    "Edges", "EpisodeStates", "EpisodeUses", "Evidence", "Fleets", "NodeContents", "Nodes",
    "Tasks", "WorkingMemories",
)  # fmt: skip


def test_the_migrations_pass() -> None:
    assert check_schema(migration_texts()) == []


def test_every_batch_passes_by_itself(schema: Catalogue) -> None:
    sent = [batch for migration in migration_texts() for batch in batches(migration)]
    assert all(batch.text.strip() for batch in sent)
    assert check(sent, schema) == []


def test_the_named_queries_pass(schema: Catalogue) -> None:
    assert check(query_texts(), schema) == []


def test_the_grants_pass_and_give_the_daily_role_no_way_to_change_the_schema(
    schema: Catalogue,
) -> None:
    text = (ROOT / "sql" / "mssql" / "grants.sql").read_text()
    assert check([Statement("grants.sql", text)], schema) == []
    daily = re.findall(r"^GRANT ([^;]+?)\s+TO RetrographDaily;", text, re.MULTILINE)
    assert daily == ["SELECT, INSERT, UPDATE, DELETE, EXECUTE"]


def test_every_statement_on_one_fleet_names_it_too(schema: Catalogue) -> None:
    texts = [text for text in query_texts() if text.name not in ON_SEVERAL_FLEETS]
    scripts = [parse(text)[0] for text in [*migration_texts(), *texts]]
    scope = ("TenantId", "FleetId")
    assert [f for script in scripts for f in predicates(script, schema, scope)] == []


def test_what_is_versioned_and_guarded(schema: Catalogue) -> None:
    versioned = {name for name, table in schema.tables.items() if table.history}
    assert versioned == set(VERSIONED)
    assert schema.histories() == {f"{name}History" for name in VERSIONED}
    guarded = {name for name in schema.tables if schema.guarded(name)}
    assert schema.tables.keys() - guarded == {"Leadership", "SchemaMigration", "Tenants"}
    assert schema.filtered == guarded
    assert schema.blocked == guarded - schema.histories()


def test_no_parameter_stands_in_a_comment() -> None:
    """A driver would ask for its value."""
    comments = [(q.name, c) for q in query_texts() for c in re.findall("--.*", q.text)]
    assert [found for found in comments if re.search(r"(?<![:\w]):\w|\?", found[1])] == []
