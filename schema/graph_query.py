"""The queries about what is believed: nodes, edges, and what lies between and around them."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.resolvers.edges import list_edges
from retrograph.resolvers.nodes import get_node, list_nodes
from retrograph.resolvers.walks import find_paths, neighbourhood
from retrograph.rules.limits import check_batch
from retrograph.schema import inputs
from retrograph.schema.arguments import (
    After,
    AsOf,
    First,
    FleetId,
    WalkDepth,
    read_fleet,
)
from retrograph.schema.connection import Connection, SearchConnection
from retrograph.schema.context import Info
from retrograph.schema.cursors import ListCursors, position_of, same_instant
from retrograph.schema.edge import MemoryEdge, edge_connection, read_types
from retrograph.schema.enums import Direction, EdgeType
from retrograph.schema.neighbourhood import Neighbourhood
from retrograph.schema.node import MemoryNode, node_connection
from retrograph.schema.path import DependencyPath, path_connection, path_position


@strawberry.type(description="What is believed.")
class GraphQuery:
    @strawberry.field(description="A node; null if there was none at that instant.")
    async def node(
        self,
        info: Info,
        fleet_id: FleetId,
        by: Annotated[inputs.NodeRef, strawberry.argument(description="Which node.")],
        as_of: AsOf = None,
    ) -> MemoryNode | None:
        fleet = read_fleet(fleet_id)
        ref = by.read(("by",))
        at = await info.context.at(fleet, as_of)
        record = await info.context.call(get_node, fleet, ref, at)
        return None if record is None else MemoryNode.of(record)

    @strawberry.field(description="The nodes of a fleet, by id.")
    async def nodes(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            inputs.NodeFilter | None, strawberry.argument(description="Only such nodes.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[MemoryNode]:
        fleet = read_fleet(fleet_id)
        wanted = (filter or inputs.NodeFilter()).read()
        cursors = ListCursors("nodes", (int,), fleet, wanted)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(list_nodes, fleet, wanted, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return node_connection(page, cursors, lambda row: row.id, after)

    @strawberry.field(description="The edges of a fleet, by id.")
    async def edges(
        self,
        info: Info,
        fleet_id: FleetId,
        filter: Annotated[
            inputs.EdgeFilter | None, strawberry.argument(description="Only such edges.")
        ] = None,
        first: First = 50,
        after: After = None,
        as_of: AsOf = None,
    ) -> Connection[MemoryEdge]:
        fleet = read_fleet(fleet_id)
        wanted = (filter or inputs.EdgeFilter()).read()
        cursors = ListCursors("edges", (int,), fleet, *wanted)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(list_edges, fleet, *wanted, first, position_of(keyset), at)
        same_instant(keyset, page.as_of)
        return edge_connection(page, cursors, after)

    @strawberry.field(
        description=(
            "The dependency paths between two nodes: shortest first, then by node ids, then by "
            "edge ids."
        )
    )
    async def paths(  # noqa: PLR0913, PLR0917 (what a search takes)
        self,
        info: Info,
        fleet_id: FleetId,
        from_: Annotated[
            inputs.NodeRef, strawberry.argument(name="from", description="The dependency.")
        ],
        to: Annotated[inputs.NodeRef, strawberry.argument(description="The dependent.")],
        types: Annotated[
            list[EdgeType] | None,
            strawberry.argument(
                description="Only over edges of these types; left out, the five that propagate."
            ),
        ] = None,
        max_depth: Annotated[
            int,
            strawberry.argument(description="How many edges a path may have at most: 1 to 20."),
        ] = 6,
        first: First = 10,
        after: After = None,
        as_of: AsOf = None,
    ) -> SearchConnection[DependencyPath]:
        fleet = read_fleet(fleet_id)
        asked = from_.read(("from",)), to.read(("to",)), read_types(types), max_depth
        cursors = ListCursors("paths", (int, ...), fleet, *asked)
        keyset = cursors.decode(after)
        at = await info.context.at(fleet, as_of, keyset)
        page = await info.context.call(find_paths, fleet, *asked, first, path_position(keyset), at)
        same_instant(keyset, page.as_of)
        return path_connection(page, fleet, cursors, after)

    @strawberry.field(
        description=(
            "What a picture needs: the neighbourhood of some roots as flat lists, cut off at "
            "`first` nodes, never silently."
        )
    )
    async def neighbourhood(
        self,
        info: Info,
        fleet_id: FleetId,
        roots: Annotated[
            list[inputs.NodeRef], strawberry.argument(description="1 to 1,000 nodes.")
        ],
        direction: Annotated[
            Direction, strawberry.argument(description="Which way to follow edges.")
        ] = Direction.BOTH,
        max_depth: WalkDepth = 2,
        first: Annotated[
            int, strawberry.argument(description="How many nodes to give at most: 1 to 1,000.")
        ] = 500,
        as_of: AsOf = None,
    ) -> Neighbourhood:
        fleet = read_fleet(fleet_id)
        check_batch(len(roots), field=("roots",))
        refs = [each.read(("roots", str(place))) for place, each in enumerate(roots)]
        at = await info.context.at(fleet, as_of)
        found = await info.context.call(neighbourhood, fleet, refs, direction, max_depth, first, at)
        return Neighbourhood.of(found, fleet)
