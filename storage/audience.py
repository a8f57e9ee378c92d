"""Whom a stream tells of what: the nodes that a filter means, the edges that touch one of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from retrograph.storage.filters import NodeFilter, passes
from retrograph.storage.nodes import SeenNode, seen_then
from retrograph.storage.records import EdgeRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.subtrees import Subtree
from retrograph.storage.update_records import NODE, Place

Then = tuple[int, int]
"""The id of something, and an instant."""


@dataclass(frozen=True, slots=True)
class Audience:
    """What a stream is told of: nodes that pass a filter and, where one is given, of a subtree.

    It belongs to one stream.
    """

    filter: NodeFilter
    subtree: Subtree | None

    @property
    def open(self) -> bool:
        """Whether it is told of everything."""
        return self.subtree is None and self.filter == NodeFilter()

    def prepare(self, s: Snapshot, since: int, until: int) -> None:
        """To be called before it is asked about instants from `since` to `until`."""
        if self.subtree is not None:
            self.subtree.prepare(s, since, until)

    def turns(self, after: Place) -> Iterator[Place]:
        """Where nodes came into the subtree or left it, in order, as far as it was prepared."""
        for at, ids in () if self.subtree is None else self.subtree.turns():
            start = bisect_right(ids, after, key=partial(Place, at, NODE))
            yield from (Place(at, NODE, id) for id in islice(ids, start, None))

    def hears(self, seen: SeenNode | None, at: int) -> bool:
        """Whether it is told of a node that was seen at an instant."""
        if seen is None or not passes(self.filter, seen):
            return False
        return self.subtree is None or seen.id in self.subtree.at(at)


class View:
    """What an audience hears of the nodes that were looked at, each at its instant."""

    def __init__(self, s: Snapshot, audience: Audience) -> None:
        self._s = s
        self._audience = audience
        self._seen: dict[Then, SeenNode | None] = {}

    def look(self, places: Iterable[Then]) -> None:
        """Looks at nodes that it hasn't looked at yet; one statement."""
        new = {each for each in places if each not in self._seen}
        self._seen |= dict.fromkeys(new) | seen_then(self._s, new)

    def look_at_ends(self, edges: Collection[tuple[EdgeRecord, int]]) -> None:
        """The same with the ends of edges at instants."""
        self.look((end, at) for each, at in edges for end in (each.source_id, each.target_id))

    def is_there(self, id: int, at: int) -> bool:
        """Whether it was a node."""
        return self._seen[id, at] is not None

    def hears(self, id: int, at: int) -> bool:
        """Whether the audience is told of a node."""
        return self._audience.hears(self._seen[id, at], at)

    def turned(self, id: int, at: int) -> bool:
        """Whether a node came, went, entered or left at an instant: then edges may have, too."""
        return any(look(id, at) != look(id, at - 1) for look in (self.is_there, self.hears))

    def is_whole(self, edge: EdgeRecord, at: int) -> bool:
        """Whether an edge has two ends, which are nodes."""
        ends = edge.source_id, edge.target_id
        return ends[0] != ends[1] and all(self.is_there(end, at) for end in ends)

    def hears_edge(self, edge: EdgeRecord, at: int) -> bool:
        """Whether the audience is told of an edge: it is whole, and touches a node it hears of."""
        ends = edge.source_id, edge.target_id
        return self.is_whole(edge, at) and any(self.hears(end, at) for end in ends)
