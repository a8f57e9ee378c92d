"""What undoes a cascade, and what lets a pinned node go: changes that are no cascade themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields

from retrograph.rules.cascade import Cascade, ImpactKind, Seeds, cascade
from retrograph.rules.graph import Graph
from retrograph.rules.validity import Validity

State = tuple[int, int, bool]


@dataclass(frozen=True, slots=True)
class _Row:
    """One impact; the fields are the columns of a `Cascade`, the cause by its node."""

    node: int
    kind: int
    before: int
    after: int
    stored_before: int
    stored_after: int
    cause: int | None
    origin: int | None
    depth: int


def unpinned(node_id: int, stored: Validity, projected: Validity) -> Cascade:
    """The change that unpinning makes: the node takes what cascades left on it, and no more.

    What rests on the node has heard of it already, since cascades pass through a pin.
    """
    changed = ImpactKind.CHANGED
    row = _Row(node_id, changed, stored, projected, stored, projected, None, None, 0)
    return _cascade_of([row])


def reversal(
    graph: Graph, former: Mapping[int, State], passing: Sequence[tuple[int, int, int]]
) -> Cascade:
    """The change that gives nodes their former states back.

    `former` are states (validity, projected, pinned) by node. `passing` are the edges into them
    from sources that later runs raised: the restored nodes are judged again by those, down to the
    fixpoint. A node has one impact, from what it is to what it is then; a restored one has depth
    0 and no cause.
    """
    restored = graph.changed(nodes=((node, *state) for node, state in former.items()))
    again = cascade(restored, Seeds(passing=passing))
    rows = {row.node: row for row in _rows_of(again, graph, former)}
    for node, state in former.items():
        if node not in rows:
            rows[node] = _restored(node, _state(graph, node), state)
    return _cascade_of(sorted(rows.values(), key=lambda row: (row.depth, row.node)))


def _rows_of(again: Cascade, graph: Graph, former: Mapping[int, State]) -> list[_Row]:
    rows = []
    for ordinal, node in enumerate(again.nodes):
        kind, cause = again.kinds[ordinal], again.causes[ordinal]
        if kind == ImpactKind.REEVALUATE and node in former:
            continue  # it has an impact for being restored
        stored_before, before, _ = _state(graph, node)
        rows.append(
            _Row(
                node,
                kind,
                before,
                again.after[ordinal],
                stored_before,
                again.stored_after[ordinal],
                None if cause is None else again.nodes[cause],
                again.origins[ordinal],
                again.depths[ordinal],
            )
        )
    return rows


def _restored(node: int, present: State, former: State) -> _Row:
    kind = ImpactKind.PINNED if former[2] else ImpactKind.CHANGED
    return _Row(node, kind, present[1], former[1], present[0], former[0], None, None, 0)


def _state(graph: Graph, node: int) -> State:
    state = graph.state(node)
    if state is None:
        raise ValueError(f"node {node} is not in the graph")
    return state


def _cascade_of(rows: Sequence[_Row]) -> Cascade:
    ordinals = {row.node: ordinal for ordinal, row in enumerate(rows)}
    columns = zip(*map(astuple, rows), strict=True) if rows else ([] for _ in fields(_Row))
    nodes, kinds, before, after, stored_before, stored_after, causes, origins, depths = map(
        list, columns
    )
    causes = [None if cause is None else ordinals[cause] for cause in causes]
    return Cascade(
        nodes, kinds, before, after, stored_before, stored_after, causes, origins, depths
    )
