"""Everything that can be asked of a fleet as of an instant, as values that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.edges import edges_around, list_edges, load_edges
from retrograph.resolvers.events import list_events
from retrograph.resolvers.nodes import evidence_of, get_node, history_of, list_nodes, staleness_of
from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.runs import impact_paths, list_impacts, list_runs
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.walks import find_paths, neighbourhood, reached
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.limits import MAX_FIRST
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.decisions import page_decisions
from retrograph.storage.filters import NodeFilter, RunFilter, TaskFilter
from retrograph.storage.records import Direction, NodeRecord, NodeRef
from retrograph.storage.task_records import OPEN, TaskStatus
from retrograph.storage.tasks import blocking, open_tasks_at, page_tasks, tasks_by_id

MOST = MAX_FIRST
EFFECTS = [validity for validity in Validity if not is_healthy(validity)]

Answers = dict[str, Any]
Question = Callable[[Scope, int, int, Sequence[NodeRecord]], Any]


def observe(scope: Scope, fleet: int, at: int) -> Answers:
    """The answer to every question, as of `at`."""
    nodes = list_nodes(scope, fleet, NodeFilter(), MOST, at=at)
    assert not nodes.has_next
    assert nodes.as_of == min(at, scope.clock(fleet))
    answers = {name: ask(scope, fleet, at, nodes.rows) for name, ask in QUESTIONS.items()}
    return {"nodes": nodes} | answers


def _ids(nodes: Sequence[NodeRecord]) -> list[int]:
    return [node.id for node in nodes]


def _by_key(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    found = [get_node(scope, fleet, NodeRef(key=node.key), at) for node in nodes]
    assert found == list(nodes)
    return found


def _sick(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    wanted = NodeFilter(validity=frozenset(EFFECTS))
    page = list_nodes(scope, fleet, wanted, MOST, at=at)
    assert page.rows == [node for node in nodes if not is_healthy(node.validity)]
    return page, staleness_of(scope, fleet, at, nodes)


def _pinned(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    page = list_nodes(scope, fleet, NodeFilter(pinned=True), MOST, at=at)
    assert page.rows == [node for node in nodes if node.pinned]
    return page


def _edges(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    page = list_edges(scope, fleet, None, None, None, MOST, at=at)
    loaded = load_edges(scope, fleet, at, [edge.id for edge in page.rows])
    assert loaded == {edge.id: edge for edge in page.rows}
    out = edges_around(scope, fleet, at, _ids(nodes), True, None, MOST)
    into = edges_around(scope, fleet, at, _ids(nodes), False, None, MOST)
    for around in (out, into):
        assert sorted(e.id for p in around.values() for e in p.rows) == sorted(loaded)
    return page, out, into


def _history(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    histories = history_of(scope, fleet, at, _ids(nodes), MOST)
    for node in nodes:
        versions = histories[node.id].rows
        assert versions[0] == node
        for new, old in pairwise(versions):
            assert old.valid_to is not None
            if new.valid_from != old.valid_to:  # a rewind took it out of the present
                _is_away(scope, fleet, node.id, old.valid_to, new.valid_from)
        assert versions[-1].valid_from == node.created_at
    return histories


def _is_away(scope: Scope, fleet: int, node: int, left: int, returned: int) -> None:
    assert left < returned
    for at in (left, returned - 1):
        assert get_node(scope, fleet, NodeRef(id=node), at) is None


def _evidence(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    return evidence_of(scope, fleet, at, _ids(nodes))


def _walks(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    return {way: reached(scope, fleet, at, _ids(nodes), way, 64, MOST) for way in Direction}


def _neighbourhoods(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    refs = [NodeRef(id=node.id) for node in nodes[:2]]
    return refs and [neighbourhood(scope, fleet, refs, way, 3, 5, at) for way in Direction]


def _paths(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    types = list(EdgeType)
    return [
        find_paths(scope, fleet, NodeRef(id=one.id), NodeRef(id=other.id), types, 4, 20, at=at)
        for one, other in pairwise(nodes[:4])
    ]


def _runs(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    page = list_runs(scope, fleet, RunFilter(), MOST, at=at)
    found = []
    for run in page.rows:
        impacts = list_impacts(scope, fleet, at, run.id, None, MOST)
        keys = [(run.id, impact.ordinal) for impact in impacts.rows]
        found.append((run, impacts, impact_paths(scope, fleet, at, keys, MOST)))
    return found


def _events(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    return list_events(scope, fleet, None, None, MOST, at)


def _tasks(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    with scope.snapshot(fleet, at) as s:
        page = page_tasks(s, TaskFilter(), MOST, None)
        for status in TaskStatus:
            wanted = TaskFilter(frozenset({status}))
            found = page_tasks(s, wanted, MOST, None).rows
            assert found == [each for each in page.rows if each.status is status]
        opened = open_tasks_at(s, _ids(nodes))
        assert sorted(opened.values(), key=lambda each: each.id) == [
            each for each in page.rows if each.status in OPEN
        ]
        assert tasks_by_id(s, [each.id for each in page.rows]) == {e.id: e for e in page.rows}
        return page, blocking(s, list(opened.values()))


def _decisions(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    with scope.snapshot(fleet, at) as s:
        page = page_decisions(s, None, MOST, None)
        for node in nodes:
            mine = page_decisions(s, node.id, MOST, None).rows
            assert mine == [each for each in page.rows if each.node_id == node.id]
        return page


def _changes(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    starts = sorted({node.valid_from - 1 for node in nodes} | {0})
    return [list_changes(scope, fleet, since, at, MOST) for since in (starts[0], starts[-1])]


def _previews(scope: Scope, fleet: int, at: int, nodes: Sequence[NodeRecord]) -> Any:
    return [
        preview_invalidation(scope, fleet, NodeRef(id=node.id), effect, at)
        for node, effect in zip(nodes, EFFECTS, strict=False)
    ]


QUESTIONS: dict[str, Question] = {
    "by key": _by_key,
    "sick": _sick,
    "pinned": _pinned,
    "edges": _edges,
    "history": _history,
    "evidence": _evidence,
    "walks": _walks,
    "neighbourhoods": _neighbourhoods,
    "paths": _paths,
    "runs": _runs,
    "events": _events,
    "tasks": _tasks,
    "decisions": _decisions,
    "changes": _changes,
    "previews": _previews,
}
