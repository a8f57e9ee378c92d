"""Reads as of an instant against reads of the present, and with more history against less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.graphs import FLEET, TENANT, layered
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.past import with_past
from benchmarks.sizes import Sizes
from retrograph.storage.nodes import nodes_by_id
from retrograph.storage.records import Direction
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store, open_store
from retrograph.storage.walks import reached

PRESENT, PAST, SHORT = "the present", "AS OF", "AS OF with less history"


@dataclass(frozen=True, slots=True)
class Read:
    """A kind of read of storage, the nodes it is asked of in one go, and the aims for it."""

    what: str
    act: Callable[[Snapshot, int], bool]
    ids: Sequence[int]
    against_present: float
    against_less: float | None


def as_of(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """A point, two hops and a snapshot: the past against the present, long pasts against short."""
    shape = layered(sizes.large, sizes.depth)
    long = with_past(folder / "long.db", shape, sizes.versions)
    short = with_past(folder / "short.db", shape, 1)
    with ExitStack() as stack:
        of_long, of_short = (
            stack.enter_context(closing(open_store(str(past.path)))) for past in (long, short)
        )
        for read in reads(sizes):
            tasks = {
                PRESENT: partial(time_reads, of_long, None, read),
                PAST: partial(time_reads, of_long, long.middle, read),
                SHORT: partial(time_reads, of_short, short.middle, read),
            }
            yield from _rows(read, sizes, interleaved(sizes.rounds, tasks))


def _rows(read: Read, sizes: Sizes, seconds: dict[str, list[float]]) -> Iterator[Row]:
    rows = sizes.large * sizes.versions
    each = {name: [one / len(read.ids) for one in taken] for name, taken in seconds.items()}
    what = f"AS OF against the present, {rows:,} versions of {sizes.large:,} nodes: {read.what}"
    yield compare(what, read.against_present, each, PAST, PRESENT)
    if read.against_less is not None:
        what = f"AS OF with {sizes.versions} × more history against less: {read.what}"
        yield compare(what, read.against_less, each, PAST, SHORT)


def reads(sizes: Sizes) -> list[Read]:
    """What is read, of nodes that have dependents."""
    chance, inner = Random(2), sizes.large * (sizes.depth - 2) // sizes.depth
    ids = [chance.randrange(1, inner) for _ in range(sizes.batch)]
    return [
        Read("a point", _point, ids, 1.5, 1.3),
        Read("two hops", _two_hops, ids, 2.0, 1.3),
        Read("a snapshot of the whole graph", _snapshot, ids[:1], 2.3, None),
    ]


def time_reads(store: Store, at: int | None, read: Read) -> float:
    """The seconds of a batch of reads of one snapshot."""
    with store.read(TENANT, FLEET, at) as snapshot:
        return timed(lambda: _all(snapshot, read))


def _all(snapshot: Snapshot, read: Read) -> None:
    if not all(read.act(snapshot, node_id) for node_id in read.ids):
        raise AssertionError(f"{read.what}: something is not there at {snapshot.instant}")


def _point(snapshot: Snapshot, node_id: int) -> bool:
    """One node whole: identity, state and content."""
    return node_id in nodes_by_id(snapshot, [node_id])


def _two_hops(snapshot: Snapshot, node_id: int) -> bool:
    """From a node to its dependents and theirs (a few nodes have none)."""
    pages = reached(snapshot, [node_id], Direction.DEPENDENTS, max_depth=2, first=1_000)
    return node_id in pages


def _snapshot(snapshot: Snapshot, _: int) -> bool:
    """The states of all nodes, and all edges."""
    return snapshot.profile.load_graph(snapshot).edge_count > 0
