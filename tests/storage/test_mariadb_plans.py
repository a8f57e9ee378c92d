"""Reads on MariaDB take their way by indexes: a long history is not read through.

Judged by what the server did, the rows it read, and not by what it planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from retrograph.rules.edge_type import EdgeType
from retrograph.storage.gates import drop_gates, gates, put_gates
from retrograph.storage.set_writes import update_named, update_paired
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from retrograph.storage.tables import node_state, task_gate
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write
from tests.clock import ManualClock
from tests.planting import new_node, plant_edges, plant_nodes
from tests.servers import MariaDBServer
from tests.storage.test_plans import IN_ORDER, SORTED

NODES, VERSIONS = 1_000, 20
FEW = 5_000
"""Rows: a quarter of the history, and enough for every read of a few nodes and their edges."""
THROUGH = {"sick nodes", "pinned nodes"}
"""What looks through a whole fleet for what is rare: the past has no index by validity."""


@dataclass(frozen=True, slots=True)
class Long:
    """A store with a long history, and an instant half-way through it."""

    store: Store
    middle: int


@pytest.fixture(scope="module")
def long(mariadb_server: MariaDBServer) -> Iterator[Long]:
    clock = ManualClock()
    store = open_store(mariadb_server.url(mariadb_server.fresh_database()), clock=clock)
    ids = plant_nodes(store, [new_node(f"n:{n}") for n in range(NODES)])
    plant_edges(store, [(ids[n // 3], ids[n], EdgeType.REQUIRES) for n in range(1, NODES)])
    instants = []
    for version in range(VERSIONS):
        clock.advance()
        store.write(1, 1, partial(_change, ids=ids, run=version))
        clock.advance()
        store.write(1, 1, partial(_change, ids=ids[:5], run=0))
        instants.append(store.clock(1, 1))
    yield Long(store, instants[VERSIONS // 2])
    store.close()


def _change(write: Write, ids: range, run: int) -> None:
    """Opens a version of each state; the few that are given by themselves are sick."""
    sick = len(ids) < NODES
    rows = [{"id": id, "validity": 1 + 2 * sick, "run_id": run} for id in ids]
    open_next(write.snapshot, node_state, rows)


def rows_read(s: Snapshot) -> int:
    told = s.connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read%'").all()
    return sum(int(count) for _, count in told)


@pytest.mark.parametrize("at", ["present", "past"])
@pytest.mark.parametrize("name", [*IN_ORDER, *SORTED])
def test_a_read_of_few_things_reads_few_rows(long: Long, name: str, at: str) -> None:
    if name in THROUGH and at == "past":
        pytest.skip("looks at a whole fleet")
    with long.store.read(1, 1, long.middle if at == "past" else None) as s:
        before = rows_read(s)
        (IN_ORDER | SORTED)[name](s)
        count = rows_read(s) - before
    assert count < FEW


def test_what_a_list_names_is_written_without_reading_the_fleet(long: Long) -> None:
    def job(write: Write) -> int:
        s = write.snapshot
        put_gates(write, dict.fromkeys(range(1, 2 * FEW), 1))
        ids = [each * 100 for each in range(1, 21)]
        before = rows_read(s)
        update_paired(s, task_gate.c.component_id, task_gate.c.blockers, dict.fromkeys(ids, 2))
        update_named(s, task_gate.c.component_id, ids, {"blockers": 3})
        drop_gates(write, ids)
        assert gates(write, ids) == {}
        return rows_read(s) - before

    assert long.store.write(1, 1, job) < FEW
