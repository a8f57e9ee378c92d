"""What recall looks through: the episodes of one domain, each with its vector and what it names.

An index holds episodes whatever their state; who may be recalled is told beside it. Episodes are
added, never changed or taken away: readers keep to the count they have seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from retrograph.rules.arrays import NO_INTS, Flags, Ints
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.column import Column
from retrograph.rules.partition import Partition
from retrograph.rules.vectors import Vectors, bytes_of_row, read_rows


@dataclass(frozen=True, slots=True)
class Indexed:
    """An episode to add: the float32 bytes of its vector, URNs, and its metadata's pairs."""

    id: int
    vector: bytes
    entities: Collection[str] = ()
    metadata: Collection[str] = ()


class DomainIndex:
    """The vectors, entities and metadata of a domain's episodes, by place."""

    def __init__(self, dimension: int) -> None:
        self.vectors = Vectors(dimension)
        self.partition: Partition | None = None
        """What leads to the nearest in a large index; see `stages.choose_stages`."""
        self.parted_at = 0
        """How many episodes there were when it was made."""
        self.measured_at = 0
        """How many there were when it was last found out how well it leads."""
        self._ids = Column()
        self._entity_counts = Column()
        self._postings: dict[str, Column] = {}
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids.values)

    @property
    def ids(self) -> Ints:
        """The id at every place."""
        return self._ids.values

    @property
    def entity_counts(self) -> Ints:
        """How many entities the episode at every place names."""
        return self._entity_counts.values

    @property
    def nbytes(self) -> int:
        """About the memory that the index takes."""
        postings = sum(len(each.values) for each in self._postings.values())
        return self.vectors.nbytes + len(self) * _BYTES_OF_PLACE + postings * 8

    def add(self, episodes: Sequence[Indexed]) -> None:
        """Takes in those episodes that it doesn't hold."""
        fresh = [each for each in episodes if each.id not in self._places]
        if not fresh:
            return
        rows = read_rows([each.vector for each in fresh], self.vectors.dimension)
        self.vectors.add(rows)
        if self.partition is not None:
            self.partition.add(rows)
        for place, each in enumerate(fresh, len(self)):
            self._places[each.id] = place
            for term in {*each.entities, *each.metadata}:
                self._postings.setdefault(term, Column()).add([place])
        self._entity_counts.add([len(set(each.entities)) for each in fresh])
        self._ids.add([each.id for each in fresh])

    def reserve(self, count: int) -> None:
        """Makes room for so many more episodes at once."""
        self.vectors.reserve(count)

    def take_partition(self, partition: Partition) -> None:
        """Is led by a partition of all that it holds, from now on."""
        self.partition, self.parted_at = partition, len(self)

    def holds(self, id: int) -> bool:
        """Whether it holds an episode."""
        return id in self._places

    def places_of(self, ids: Collection[int]) -> Ints:
        """The places of those episodes that it holds."""
        return np.array([self._places[id] for id in ids if id in self._places], np.int64)

    def with_term(self, term: str, count: int) -> Ints:
        """The places below `count` whose episodes have an entity's URN or a pair of metadata."""
        found = self._postings.get(term)
        return NO_INTS if found is None else found.below(count)

    def with_all(self, terms: Collection[str], count: int) -> Flags:
        """Which places below `count` have every one of these terms."""
        found = np.ones(count, np.bool_)
        for term in terms:
            has = np.zeros(count, np.bool_)
            has[self.with_term(term, count)] = True
            found &= has
        return found


def metadata_terms(metadata: Mapping[str, object]) -> set[str]:
    """What an index finds metadata by: a term for each member that is a text, number or truth."""
    plain = (str, int, float, bool)
    return {metadata_term(name, v) for name, v in metadata.items() if isinstance(v, plain)}


def metadata_term(name: str, value: object) -> str:
    """The term of one member; no URN looks like it."""
    return canonical_json([name, value], field=("metadata",))


def bytes_of_episode(dimension: int) -> int:
    """About the memory that an episode takes in an index."""
    return bytes_of_row(dimension) + _BYTES_OF_PLACE


_BYTES_OF_PLACE = 200
"""Of ids, places, lists and terms: about, and rather too much."""
