"""What a feed of updates tells: nodes that match, and then whatever changes of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from retrograph.storage.records import EdgeRecord, NodeRecord


class UpdateKind(IntEnum):
    """What became of a node or edge, as a filter sees it."""

    PRESENT = 1
    SNAPSHOT_END = 2
    ENTERED = 3
    CHANGED = 4
    LEFT = 5


class Place(NamedTuple):
    """A place among updates: the instant, 0 for a node or 1 for an edge, and its id."""

    at: int
    what: int
    id: int


@dataclass(frozen=True, slots=True)
class UpdateRecord:
    """A node or an edge that became what it is at the place's instant, or is no more.

    What has left the filter is told as it is at the instant, and what is gone as it was last.
    """

    place: Place
    kind: UpdateKind
    node: NodeRecord | None = None
    edge: EdgeRecord | None = None
