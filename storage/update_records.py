"""What a feed of updates tells: nodes that match, and then whatever changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from retrograph.rules.limits import MAX_ID, MIN_ID
from retrograph.storage.records import EdgeRecord, NodeRecord

NODE, EDGE = 0, 1
"""What a place is of."""


class UpdateKind(IntEnum):
    """What became of a node or edge, as a filter sees it."""

    PRESENT = 1
    SNAPSHOT_END = 2
    ENTERED = 3
    CHANGED = 4
    LEFT = 5


class Place(NamedTuple):
    """A place among updates: the instant, 0 for a node or 1 for an edge, and its id.

    Behind a node stand the edges that enter or leave with it, by `edge`.
    """

    at: int
    what: int
    id: int
    edge: int = MIN_ID

    @property
    def is_node(self) -> bool:
        """Whether it is that of a node, not of an edge."""
        return self.what == NODE and self.edge == MIN_ID

    @property
    def amid(self) -> bool:
        """Whether edges may stand behind it that belong to the same node."""
        return self.what == NODE and self.id > MIN_ID and self.edge < MAX_ID

    @property
    def edge_id(self) -> int:
        """The id of the edge whose place it is."""
        return self.id if self.what == EDGE else self.edge

    def passed(self) -> Place:
        """The place behind all edges that belong to a node."""
        return self._replace(edge=MAX_ID)


class Part(NamedTuple):
    """A part of a stream: what is told, how far that leads, and whether there is more by now."""

    rows: Sequence[Any]
    last: Any
    has_next: bool
    as_of: int


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """A node or an edge that became what it is at the place's instant, or is no more.

    What has left the filter is told as it is at the instant, and what is gone as it was last.
    """

    place: Place
    kind: UpdateKind
    node: NodeRecord | None = None
    edge: EdgeRecord | None = None
