"""On MariaDB, names and keys that begin alike are found without reading those that don't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert

from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.executions import find_standing, page_executions
from retrograph.storage.filters import StepFilter
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.steps import page_steps
from retrograph.storage.store import Store, open_store
from retrograph.storage.tables import execution, execution_step
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.executions import Execution
from tests.servers import MariaDBServer
from tests.storage.test_mariadb_plans import rows_read

MANY, FEW = 3_000, 3
MOST = 200
"""Rows that are read for a few, with all that belongs to them."""


@pytest.fixture(scope="module")
def store(mariadb_server: MariaDBServer) -> Iterator[Store]:
    """Many executions, and one with many steps; a few of each begin with `t/`."""
    url = mariadb_server.url(mariadb_server.fresh_database())
    opened = open_store(url, clock=ManualClock())
    opened.write_all(1, [1], lambda _: None)
    scope = Scope(opened, 1, None, frozenset(Role))
    for number in range(FEW):
        Execution(scope, f"t/{number}").grow(1)
        record_step(scope, 1, Step("run", f"t/{number}", StepStatus.STARTED))
    opened.write(1, 1, _fill)
    yield opened
    opened.close()


def _fill(write: Write) -> None:
    s = write.snapshot
    run = find_standing(s, "run")
    assert run is not None
    scope = {"tenant_id": 1, "fleet_id": 1}
    names: list[dict[str, Any]] = [
        scope | {"id": 1_000 + each, "key": f"other {each:06}", "created_at": write.instant}
        for each in range(MANY)
    ]
    steps: list[dict[str, Any]] = [
        scope
        | {"execution_id": run.id, "ordinal": 1_000 + each, "key": f"other {each:06}"}
        | {"sequence": 0, "started_at": write.instant, "hash": ""}
        for each in range(MANY)
    ]
    s.connection.execute(insert(execution), names)
    s.connection.execute(insert(execution_step), steps)


READS: dict[str, Callable[[Snapshot], Any]] = {
    "executions": lambda s: page_executions(s, "t/", 50, None),
    "steps": lambda s: page_steps(s, "run", StepFilter(key_prefix="t/"), 50, None),
}


@pytest.mark.parametrize("name", READS)
def test_a_few_that_begin_alike_are_found_by_reading_few(store: Store, name: str) -> None:
    with store.read(1, 1) as s:
        before = rows_read(s)
        found = READS[name](s).rows
        count = rows_read(s) - before
    assert [each.key for each in found] == [f"t/{number}" for number in range(FEW)]
    assert count < MOST
