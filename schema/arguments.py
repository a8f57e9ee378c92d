"""The arguments that many fields share, described once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import strawberry

from retrograph.rules.limits import check_id
from retrograph.schema.enums import EdgeType, EventType, ImpactKind
from retrograph.schema.scalars import DateTime

FleetId = Annotated[strawberry.ID, strawberry.argument(description="The fleet to ask.")]
First = Annotated[
    int, strawberry.argument(description="How many rows the page may have: 1 to 1,000.")
]
After = Annotated[
    str | None,
    strawberry.argument(
        description=(
            "A cursor of an earlier page: go on behind it. Without `asOf` the list is read on at "
            "the instant of the cursor, so that pages fit together."
        )
    ),
]
EventCursor = Annotated[
    str | None, strawberry.argument(description="The cursor of an event: go on behind it.")
]
AsOf = Annotated[
    DateTime | None,
    strawberry.argument(
        description="The instant to read at; left out, that of the fleet's last write."
    ),
]
WalkDepth = Annotated[
    int, strawberry.argument(description="How many edges to follow at most: 1 to 64.")
]
PathLimit = Annotated[
    int, strawberry.argument(description="How many nodes to give at most: 1 to 1,000.")
]
EdgeTypes = Annotated[
    list[EdgeType] | None,
    strawberry.argument(description="Only edges of these types; left out, of every type."),
]
ImpactKindFilter = Annotated[
    ImpactKind | None,
    strawberry.argument(description="Only impacts of this kind; left out, of every kind."),
]
EventTypes = Annotated[
    list[EventType] | None,
    strawberry.argument(description="Only events of these types; left out, of every type."),
]

WHAT = strawberry.argument(description="What to do.")
"""The one argument of every mutation."""


def read_fleet(fleet_id: strawberry.ID) -> int:
    """The number of a fleet, from the argument or field `fleetId`."""
    return check_id(fleet_id, ("fleetId",))


def read_event_types(types: Iterable[EventType] | None) -> frozenset[EventType] | None:
    """The types that an argument names; None for every type."""
    return None if types is None else frozenset(types)
