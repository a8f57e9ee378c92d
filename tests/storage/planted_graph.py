"""Graphs planted in a MariaDB by SQL, broken edges and all, for one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection

from retrograph.rules.cascade import Cascade, Seeds
from retrograph.rules.limits import MAX_IMPACTS
from retrograph.storage.bulk import insert_rows
from retrograph.storage.mariadb.cascade import call_cascade
from retrograph.storage.mariadb.profile import MariadbProfile
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write
from tests.rules.cascade_reference import Edge, Node

TENANT, FLEET, OTHER_FLEET = 1, 1, 2


@dataclass
class PlantedGraph:
    """What a transaction sees of the graph that was planted in it."""

    profile: MariadbProfile
    connection: Connection

    def add_nodes(self, fleet: int, nodes: Iterable[Node]) -> None:
        insert_rows(
            self.connection,
            self.profile,
            "node_state",
            ("tenant_id", "fleet_id", "id", "validity", "projected", "pinned"),
            [(TENANT, fleet, *map(int, node)) for node in nodes],
        )

    def add_edges(self, edges: Iterable[Edge]) -> None:
        """Plant edges of the fleet, wherever their ends are; each once."""
        insert_rows(
            self.connection,
            self.profile,
            "edge",
            ("id", "tenant_id", "fleet_id", "source_id", "target_id", "type"),
            [
                (id, TENANT, FLEET, *map(int, edge))
                for id, edge in zip(count(1), sorted(set(edges)), strict=False)
            ],
        )

    def fell(self, seeds: Seeds, limit: int = MAX_IMPACTS) -> Cascade:
        """Return what the stored procedures say of the seeds."""
        snapshot = Snapshot(self.connection, self.profile, TENANT, FLEET, 0, clock=0, began=0)
        return call_cascade(Write(snapshot, None), seeds, limit).fetched()

    def reads(self) -> dict[str, int]:
        """Return how many rows the connection has looked at, by way of access."""
        rows = self.connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return {name: int(value) for name, value in rows}


@dataclass(frozen=True)
class Soil:
    """A migrated database, empty between two graphs."""

    profile: MariadbProfile

    @contextmanager
    def planted(self, nodes: Sequence[Node], edges: Iterable[Edge]) -> Iterator[PlantedGraph]:
        """Plant a graph, and take it back at the end.

        Every end of an edge that is no node of the fleet becomes a node of another one.
        """
        edges = list(edges)
        strangers = {end for edge in edges for end in edge[:2]} - {node[0] for node in nodes}
        with self.profile.writer().connect() as connection:
            try:
                graph = PlantedGraph(self.profile, connection)
                graph.add_nodes(FLEET, nodes)
                graph.add_nodes(OTHER_FLEET, ((id, 1, 1, 0) for id in sorted(strangers)))
                graph.add_edges(edges)
                yield graph
            finally:
                connection.rollback()
