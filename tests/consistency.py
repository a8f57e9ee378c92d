"""What must hold of every fleet at every commit, checked from the tables alone.

History is gapless, the present is its last version; every impact has its state version and its
event, and a chain of causes that ends where the run began; counts agree; no instant is later
than the clock.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from sqlalchemy import Table

from retrograph.rules.cascade import ImpactKind
from retrograph.storage.records import EventType, RunStatus
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store
from retrograph.storage.tables import (
    Versioned,
    edge,
    evidence,
    impact,
    node,
    node_content,
    node_state,
    outbox,
    run,
)
from tests.open_work import check_tasks
from tests.rows import rows

Version = dict[str, Any]
EVENTS = {
    ImpactKind.CHANGED: {EventType.NODE_STALE, EventType.NODE_RESTORED},
    ImpactKind.PINNED: {EventType.PINNED_NODE_REVIEW, EventType.NODE_RESTORED},
    ImpactKind.REEVALUATE: {EventType.REEVALUATION_TRIGGERED},
}


def assert_consistent(store: Store, tenant: int = 1, fleet: int = 1) -> None:
    """Fails on the first law that the fleet's tables break."""
    with store.read(tenant, fleet) as snapshot:
        states = versions(snapshot, node_state)
        _check_chains(snapshot, states)
        _check_runs(snapshot, states)
        _check_outbox(snapshot)
        check_tasks(snapshot)


def versions(snapshot: Snapshot, versioned: Versioned) -> dict[int, list[Version]]:
    """All versions of a fleet's rows by id, oldest first; the open one has no `valid_to`."""
    found: defaultdict[int, list[Version]] = defaultdict(list)
    for table in (versioned.history, versioned.current):
        for row in _rows(snapshot, table):
            version = {"valid_to": None, **row._asdict()}
            if version["valid_to"] != version["valid_from"] or not _keeps_all(snapshot):
                found[row.id].append(version)
    for chain in found.values():
        chain.sort(key=lambda version: version["valid_from"])
    return dict(found)


def _keeps_all(snapshot: Snapshot) -> bool:
    """Whether the engine keeps versions of no length, too, which are seen at no instant."""
    return snapshot.profile.name == "mssql"


def _rows(snapshot: Snapshot, table: Table) -> list[Any]:
    return rows(snapshot.connection, table, (snapshot.tenant_id, snapshot.fleet_id))


def _check_chains(snapshot: Snapshot, states: dict[int, list[Version]]) -> None:
    contents = versions(snapshot, node_content)
    created = {row.id: row.created_at for row in _rows(snapshot, node)}
    assert states.keys() == contents.keys() == created.keys()
    rewound = _rewound_at(snapshot)
    for node_id, chain in states.items():
        assert chain[0]["valid_from"] == contents[node_id][0]["valid_from"] == created[node_id]
        assert _gaps(chain) == _gaps(contents[node_id])
        assert {left for left, _ in _gaps(chain)} <= rewound, chain
    for chains in (states, contents, versions(snapshot, edge), versions(snapshot, evidence)):
        for chain in chains.values():
            _check_times(snapshot, chain)
    for chain in states.values():
        assert all(v["pinned"] or v["validity"] == v["projected"] for v in chain), chain


def _gaps(chain: list[Version]) -> list[tuple[int, int | None]]:
    """When a node left the present, and when it came back, if it did."""
    begun = [version["valid_from"] for version in chain[1:]] + [None]
    ended = [version["valid_to"] for version in chain]
    return [(a, b) for a, b in zip(ended, begun, strict=True) if a != b]


def _rewound_at(snapshot: Snapshot) -> set[int]:
    rows = _rows(snapshot, outbox)
    return {event.at for event in rows if event.type == EventType.FLEET_REWOUND}


def _check_times(snapshot: Snapshot, chain: list[Version]) -> None:
    for version in chain:
        ended = version["valid_to"]
        assert version["valid_from"] <= snapshot.instant
        assert ended is None or version["valid_from"] < ended <= snapshot.instant
    for before, after in pairwise(chain):
        assert before["valid_to"] is not None
        assert before["valid_to"] <= after["valid_from"]


def _check_runs(snapshot: Snapshot, states: dict[int, list[Version]]) -> None:
    impacts: defaultdict[int, list[Any]] = defaultdict(list)
    for row in sorted(_rows(snapshot, impact), key=lambda row: row.ordinal):
        impacts[row.run_id].append(row)
    runs = {row.id: row for row in _rows(snapshot, run)}
    assert impacts.keys() <= runs.keys()
    alone = Counter(row.executed_at for row in runs.values())
    for each in runs.values():
        _check_run(snapshot, each, impacts[each.id], runs)
        _check_causes(each, impacts[each.id])
        if alone[each.executed_at] == 1:
            _check_states(each, impacts[each.id], states)
    _check_order(runs.values())
    for node_id, chain in states.items():
        for version in chain:
            if version["run_id"] is not None:
                found = impacts[version["run_id"]][version["run_ordinal"]]
                assert found.node_id == node_id


def _check_order(runs: Iterable[Any]) -> None:
    ordered = [each.executed_at for each in sorted(runs, key=lambda each: each.id)]
    assert ordered == sorted(ordered)


def _check_run(snapshot: Snapshot, each: Any, impacts: list[Any], runs: dict[int, Any]) -> None:
    assert each.executed_at <= snapshot.instant
    assert each.impact_count == len(impacts)
    assert [row.ordinal for row in impacts] == list(range(len(impacts)))
    assert len({row.node_id for row in impacts}) == len(impacts)
    assert (each.status == RunStatus.NO_CHANGE) == (not impacts)
    if each.reverted_at is not None:
        by = runs[each.reverted_by_run_id]
        assert (by.reverts_run_id, by.executed_at) == (each.id, each.reverted_at)


def _check_causes(each: Any, impacts: list[Any]) -> None:
    for row in impacts:
        if row.cause is not None:
            assert row.origin_id is None
            assert row.cause < row.ordinal
            assert row.depth == impacts[row.cause].depth + 1
        elif row.origin_id is not None:
            assert row.depth == 1
            assert each.reverts_run_id is not None or each.reason in {"LINKED", "CONTENT_CHANGED"}
        else:
            assert row.depth == 0
            begun = each.reverts_run_id is not None or each.reason == "LINKED"
            assert begun or row.node_id == each.root_id


def _check_states(each: Any, impacts: list[Any], states: dict[int, list[Version]]) -> None:
    """Of a run that has its instant for itself: each impact tells how its node's state changed."""
    for row in impacts:
        chain = states[row.node_id]
        before = [v for v in chain if v["valid_from"] < each.executed_at]
        after = [v for v in chain if v["valid_from"] == each.executed_at]
        if row.kind == ImpactKind.REEVALUATE:
            continue
        assert len(after) == 1, (each, row)
        assert after[0]["projected"] == row.after
        if before:
            assert before[-1]["projected"] == row.before or row.kind == ImpactKind.CHANGED
        if row.kind == ImpactKind.CHANGED:
            assert after[0]["validity"] == row.after
        if each.reverts_run_id is None:
            assert (after[0]["run_id"], after[0]["run_ordinal"]) == (each.id, row.ordinal)


def _check_outbox(snapshot: Snapshot) -> None:
    events = _rows(snapshot, outbox)
    runs = {row.id: row for row in _rows(snapshot, run)}
    kinds = {
        (runs[row.run_id].executed_at, row.run_id, row.ordinal, row.node_id): row.kind
        for row in _rows(snapshot, impact)
        if row.kind == ImpactKind.REEVALUATE or row.before != row.after
    }
    told = [event for event in events if event.run_ordinal is not None]
    keys = [(each.at, each.run_id, each.run_ordinal, each.node_id) for each in told]
    assert sorted(keys) == sorted(kinds)
    for each, key in zip(told, keys, strict=True):
        assert EventType(each.type) in EVENTS[ImpactKind(kinds[key])]
    at = Counter(event.at for event in events)
    assert all(instant <= snapshot.instant for instant in at)
    assert {(e.at, e.ordinal) for e in events} == {(i, n) for i in at for n in range(at[i])}
