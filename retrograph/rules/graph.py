"""The graph of one fleet at one instant, as an immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from retrograph.rules.arrays import Ints, Octets, among, columns, merged, parsed_columns, without
from retrograph.rules.errors import NotFound
from retrograph.rules.standing import Standing, has_ground
from retrograph.rules.standing_update import updated
from retrograph.rules.structure import Structure, moved, pack_rows
from retrograph.rules.validity import SEVERITY, Validity

NodeRow = tuple[int, int, int, int]
EdgeRow = tuple[int, int, int]

SEVERITIES: Octets = np.array(SEVERITY, np.uint8)

FEW = 16
"""If fewer than one node in so many changes, the standing is updated rather than computed anew."""


class Graph:
    """Nodes with their states, and the edges among them.

    By place (see `structure`): `validity` is the stored validity, `projected` the one a cascade
    goes by (they differ at pinned nodes only), `pinned` 0 or 1, `severity` that of `projected`.
    Threads may share a graph: nothing of it changes, save that its standing is kept once computed.
    """

    __slots__ = ("_standing", "pinned", "projected", "severity", "structure", "validity")

    def __init__(
        self, structure: Structure, validity: Octets, projected: Octets, pinned: Octets
    ) -> None:
        self.structure = structure
        self.validity = validity
        self.projected = projected
        self.pinned = pinned
        self.severity: bytes = SEVERITIES[projected].tobytes()
        self._standing: Standing | None = None

    @classmethod
    def build(cls, nodes: Iterable[NodeRow], edges: Iterable[EdgeRow]) -> Graph:
        """Return the graph of the rows, which may come in any order.

        `nodes` are (id, validity, projected, pinned), each id once; `edges` are (source, target,
        type) by id. Self-loops and edges with an unknown end are left out, for a cascade never
        leaves its fleet; an edge given twice counts once. Raises `ValueError` for an id given
        twice or a number that is no validity or no edge type.
        """
        return cls._of(columns(nodes, 4), columns(edges, 3))

    @classmethod
    def parse(cls, nodes: Sequence[str], edges: Sequence[str]) -> Graph:
        """Return the graph of columns of text, each of decimal numbers with commas between.

        `nodes` are the four columns of `build`, `edges` its three. A database that joins a column
        into one text hands it over in a third of the time that its rows take.
        """
        return cls._of(parsed_columns(nodes), parsed_columns(edges))

    @classmethod
    def _of(cls, rows: Ints, edges: Ints) -> Graph:
        rows = rows[np.argsort(rows[:, 0])]
        ids = rows[:, 0].copy()
        if (ids[1:] == ids[:-1]).any():
            raise ValueError("a graph holds each node once")
        return cls(Structure.build(ids, pack_rows(ids, edges)), *_states(rows))

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.structure.ids)

    @property
    def edge_count(self) -> int:
        """How many different edges there are, those that were left out not counted."""
        return len(self.structure.edges)

    def __contains__(self, node_id: int) -> bool:
        return self.structure.place(node_id) >= 0

    def state(self, node_id: int) -> tuple[int, int, bool] | None:
        """Return (stored validity, projected validity, pinned), or nothing for an unknown node."""
        place = self.structure.place(node_id)
        if place < 0:
            return None
        return int(self.validity[place]), int(self.projected[place]), bool(self.pinned[place])

    def places(self, node_ids: Iterable[int]) -> list[int]:
        """Return the places of nodes; raises `NotFound` for one that is not in the graph."""
        places = []
        for node_id in node_ids:
            place = self.structure.place(node_id)
            if place < 0:
                raise NotFound(f"There is no node {node_id} in this fleet. Check the id.")
            places.append(place)
        return places

    def standing(self) -> Standing:
        """Return which nodes stand as supporters; computed at the first call, then kept."""
        if self._standing is None:
            self._standing = Standing.build(
                self.structure, self.severity, self.projected, self.pinned
            )
        return self._standing

    def changed(
        self,
        *,
        nodes: Iterable[NodeRow] = (),
        edges_added: Iterable[EdgeRow] = (),
        edges_removed: Iterable[EdgeRow] = (),
        removed_nodes: Iterable[int] = (),
    ) -> Graph:
        """Return this graph with `nodes` put and the rest done; this one stays as it is.

        Removals come first: of edges, of nodes together with their edges; then nodes are put by
        id, the last row of an id counts, and edges are added. What is already so is no error.
        Shares the structure, and costs little, if only states change.
        """
        rows = _last_of_each(columns(nodes, 4))
        added, removed = columns(edges_added, 3), columns(edges_removed, 3)
        gone = np.fromiter(removed_nodes, np.int64)
        places, known = among(self.structure.ids, rows[:, 0])
        if not known.all() or len(added) or len(removed) or len(gone):
            return self._restructured(rows, added, removed, gone)
        return self._restated(places, rows)

    def _restated(self, places: Ints, rows: Ints) -> Graph:
        arrays = [column.copy() for column in self._columns()]
        for array, values in zip(arrays, _states(rows), strict=True):
            array[places] = values
        graph = Graph(self.structure, *arrays)
        if self._standing is not None and len(places) * FEW <= self.node_count:
            projected, pinned = graph.projected[places], graph.pinned[places]
            own = has_ground(self.structure, places, projected, pinned)
            severity = self.severity, graph.severity
            graph._standing = updated(self.structure, self._standing, places, severity, own)
        return graph

    def _restructured(self, rows: Ints, added: Ints, removed: Ints, gone: Ints) -> Graph:
        old = self.structure
        survivors = without(old.ids, gone)
        ids = merged(survivors, rows[:, 0])
        edges = without(old.edges, pack_rows(old.ids, removed))
        edges = moved(moved(edges, old.ids, survivors), survivors, ids)
        edges = merged(edges, pack_rows(ids, added))
        left, places = np.searchsorted(old.ids, survivors), np.searchsorted(ids, survivors)
        arrays = []
        for before, put in zip(self._columns(), _states(rows), strict=True):
            array = np.empty(len(ids), np.uint8)
            array[places] = before[left]
            array[np.searchsorted(ids, rows[:, 0])] = put
            arrays.append(array)
        return Graph(Structure.build(ids, edges), *arrays)

    def _columns(self) -> tuple[Octets, Octets, Octets]:
        return self.validity, self.projected, self.pinned


def _states(rows: Ints) -> tuple[Octets, Octets, Octets]:
    validities = rows[:, 1:3]
    if len(rows) and not 1 <= validities.min() <= validities.max() <= len(Validity):
        raise ValueError("a validity lies between 1 and 6")
    validity, projected = validities.astype(np.uint8).T.copy()
    return validity, projected, rows[:, 3].astype(np.uint8)


def _last_of_each(rows: Ints) -> Ints:
    """Return the rows in the order of their ids, of each id the last row."""
    ordered = rows[np.argsort(rows[:, 0], kind="stable")]
    ids = ordered[:, 0]
    last: Ints = ordered[np.concatenate((ids[1:] != ids[:-1], np.ones(min(len(ids), 1), bool)))]
    return last
