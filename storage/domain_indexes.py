"""Indexes of domains, kept in memory and right at the instant of whoever asks.

An index is made when it is first asked for. What any process has written since is seen by the
fleet's clock, and read before an answer is given. The least recently asked leave when all together
take more memory than they may.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from retrograph.rules.arrays import Flags
from retrograph.rules.domain_index import DomainIndex, bytes_of_episode
from retrograph.rules.eligible import changed, only
from retrograph.rules.errors import DomainTooLarge
from retrograph.rules.stages import choose_stages
from retrograph.storage.episode_records import Domain
from retrograph.storage.episodes import active_in, changed_in, indexed
from retrograph.storage.snapshot import Snapshot

DEFAULT_BYTES = 2_000_000_000
"""The memory that all indexes together may take."""

_CHUNK = 2_000
"""Episodes that are read at once."""
_VIEWS = 8
"""Instants, or spans of them, of which an index remembers who was active."""


@dataclass(slots=True)
class _View:
    """Who was active from `since` through `through`, both included."""

    since: int
    through: int
    active: Flags


@dataclass(frozen=True, slots=True)
class DomainView:
    """An index, who was active in it at an instant, and the nodes that episodes are based on."""

    index: DomainIndex
    active: Flags
    bases: dict[int, tuple[int, ...]]


@dataclass(slots=True)
class _Entry:
    """One domain's index."""

    index: DomainIndex
    bases: dict[int, tuple[int, ...]] = field(default_factory=dict)
    views: list[_View] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)


class DomainIndexes:
    """The indexes of all domains that were asked for lately."""

    def __init__(self, most_bytes: int = DEFAULT_BYTES) -> None:
        self.most_bytes = most_bytes
        self._entries: OrderedDict[tuple[int, int, int], _Entry] = OrderedDict()
        self._lock = Lock()

    def view(self, s: Snapshot, domain: Domain) -> DomainView:
        """A domain as of the snapshot; raises `DomainTooLarge`."""
        key = (s.tenant_id, s.fleet_id, domain.id)
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(DomainIndex(domain.dimension)))
            self._entries.move_to_end(key)
        with entry.lock:
            found = _known(entry, s.instant)
            if found is None:
                found = self._read(entry, s, domain)
        self._shrink()
        return DomainView(entry.index, found, entry.bases)

    def _read(self, entry: _Entry, s: Snapshot, domain: Domain) -> Flags:
        last = max(entry.views, key=lambda view: view.through, default=None)
        if s.current and last is not None and last.through < s.instant:
            news = changed_in(s, domain.id, last.through)
            if not news:
                last.through = s.instant
                return last.active
            self._hold(entry, s, [id for id, is_active in news.items() if is_active])
            active = changed(entry.index, last.active, news)
        else:
            ids = active_in(s, domain.id)
            self._hold(entry, s, ids)
            active = only(entry.index, ids)
        choose_stages(entry.index, active)
        entry.views = [*entry.views[1 - _VIEWS :], _View(s.instant, s.instant, active)]
        return active

    def _hold(self, entry: _Entry, s: Snapshot, ids: Collection[int]) -> None:
        """Reads what the index lacks."""
        index = entry.index
        missing = [id for id in ids if not index.holds(id)]
        count = len(index) + len(missing)
        size = bytes_of_episode(index.vectors.dimension)
        if count * size > self.most_bytes:
            raise DomainTooLarge(
                f"{count:,} episodes of this domain take about {count * size:,} bytes; recall may "
                f"take {self.most_bytes:,}. Raise --recall-memory, or retire episodes."
            )
        index.reserve(len(missing))
        for some in _chunks(missing):
            rows = list(indexed(s, some))
            entry.bases.update({each.id: nodes for each, nodes in rows if nodes})
            index.add([each for each, _ in rows])

    def _shrink(self) -> None:
        with self._lock:
            while len(self._entries) > 1 and self._size() > self.most_bytes:
                self._entries.popitem(last=False)

    def _size(self) -> int:
        return sum(each.index.nbytes for each in self._entries.values())


def _known(entry: _Entry, instant: int) -> Flags | None:
    return next((v.active for v in entry.views if v.since <= instant <= v.through), None)


def _chunks(ids: Iterable[int]) -> Iterable[list[int]]:
    remaining = iter(ids)
    while some := list(islice(remaining, _CHUNK)):
        yield some
