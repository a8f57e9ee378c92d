"""What must hold of a fleet's tasks at every commit, checked from the tables by plain means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table

from retrograph.rules.edge_type import PROPAGATING
from retrograph.rules.validity import Validity
from retrograph.storage.records import EventType
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import decision, edge, node_state, outbox, task, task_gate
from retrograph.storage.task_records import OPEN, DecisionKind, TaskStatus
from tests.rows import rows

UNSURE = (Validity.POTENTIALLY_STALE, Validity.DEFINITELY_STALE)


def check_tasks(snapshot: Snapshot) -> None:
    """Fails on the first law that the open tasks break."""
    tasks = _rows(snapshot, task.current)
    opened = [each for each in tasks if each.status in OPEN]
    states = {each.id: each for each in _rows(snapshot, node_state.current)}
    by_node = {each.node_id: each for each in opened}
    assert len(by_node) == len(opened), "a node has two open tasks"
    assert by_node.keys() <= states.keys()
    unsure = {i for i, s in states.items() if s.validity in UNSURE and not s.pinned}
    awaiting = {each.node_id for each in opened if each.awaiting}
    assert by_node.keys() == unsure | awaiting
    _check_readiness(snapshot, by_node)
    _check_events(snapshot, tasks)


def _check_readiness(snapshot: Snapshot, by_node: dict[int, Any]) -> None:
    edges = [
        (each.source_id, each.target_id)
        for each in _rows(snapshot, edge.current)
        if each.type in PROPAGATING
        and each.source_id != each.target_id
        and {each.source_id, each.target_id} <= by_node.keys()
    ]
    home = components(set(by_node), edges)
    stored = {node: each.component_id for node, each in by_node.items()}
    sizes = Counter(stored.values())
    entered = {home[t] for s, t in edges if home[s] != home[t]}
    for leader, group in _groups(home).items():
        assert len({stored[node] for node in group}) == 1, group
        assert sizes[stored[leader]] == len(group)
        # What is left of a circle that was ready stays ready, though its members still wait.
        waiting = {n for n in group if by_node[n].status == TaskStatus.WAITING}
        assert leader in entered or not waiting, (group, waiting)
    counts = Counter(stored[t] for s, t in edges if stored[s] != stored[t])
    gates = {each.component_id: each.blockers for each in _rows(snapshot, task_gate)}
    assert gates == dict(counts)


def _check_events(snapshot: Snapshot, tasks: Sequence[Any]) -> None:
    """Whatever is ready or was judged was told to be ready; each cancellation was told once."""
    told = Counter(
        (each.type, each.detail)
        for each in _rows(snapshot, outbox)
        if each.type in {EventType.REVALIDATION_READY, EventType.REVALIDATION_CANCELLED}
    )
    cancelled = sum(
        count for (kind, _), count in told.items() if kind == EventType.REVALIDATION_CANCELLED
    )
    assert cancelled == sum(e.status == TaskStatus.CANCELLED_SUPERSEDED for e in tasks)
    ready = {d for kind, d in told if kind == EventType.REVALIDATION_READY}
    # A repair ends the task of its node, ready or not.
    decided = _rows(snapshot, decision)
    repaired = {each.task_id for each in decided if each.kind == DecisionKind.REPAIRED}
    for each in tasks:
        if each.status in {TaskStatus.READY, TaskStatus.LEASED} or (
            each.status == TaskStatus.VERIFIED and each.id not in repaired
        ):
            assert f'{{"taskId":"{each.id}"}}' in ready, each


def components(nodes: set[int], edges: list[tuple[int, int]]) -> dict[int, int]:
    """Each node's strongly connected component, by one node of it (Kosaraju's two passes)."""
    ahead: dict[int, list[int]] = {node: [] for node in nodes}
    back: dict[int, list[int]] = {node: [] for node in nodes}
    for source, target in edges:
        ahead[source].append(target)
        back[target].append(source)
    home: dict[int, int] = {}
    for leader in reversed(_finished(ahead)):
        left = [leader]
        while left:
            node = left.pop()
            if node not in home:
                home[node] = leader
                left += back[node]
    return home


def _finished(ahead: dict[int, list[int]]) -> list[int]:
    """The nodes in the order in which a walk in depth leaves them."""
    seen: set[int] = set()
    done: list[int] = []
    for start, first in ahead.items():
        left = [] if start in seen else [(start, iter(first))]
        seen.add(start)
        while left:
            node, more = left[-1]
            onward = next((each for each in more if each not in seen), None)
            if onward is None:
                done.append(node)
                left.pop()
            else:
                seen.add(onward)
                left.append((onward, iter(ahead[onward])))
    return done


def _groups(home: dict[int, int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for node, leader in home.items():
        found.setdefault(leader, set()).add(node)
    return found


def _rows(snapshot: Snapshot, table: Table) -> list[Any]:
    return rows(snapshot.connection, table, (snapshot.tenant_id, snapshot.fleet_id))
