"""Recall from memory against the bare product of a matrix and a vector, and against faiss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from math import isqrt
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.domains import (
    clustered,
    indexed,
    isotropic,
    queries_near,
    rows_of,
    unit_of,
)
from benchmarks.measure import Row, as_time, compare, p99_of
from benchmarks.sizes import Sizes
from retrograph.rules import search, stages
from retrograph.rules.domain_index import DomainIndex
from retrograph.rules.search import Query

_LISTED = 15
_P99 = 18e-3
"""Seconds: the claim that is measured here, which names no size."""
_FAISS_BYTES = 2_000_000_000
"""Vectors that take more are not copied for faiss."""

_TRAINED = 4
"""Parts of the rows that faiss makes its lists of: about as many as ours are."""

Find = Callable[[Query], Any]
Places = set[int]


def recalling(_: Path, sizes: Sizes) -> Iterator[Row]:
    """Hybrid recall of 5, each list of 15: exact at several sizes, then in two stages."""
    for count, dimension in sizes.domains:
        yield from _exact(indexed(count, dimension, clustered), sizes)
    for count, dimension in sizes.large_domains:
        for made in (clustered, isotropic):
            if _has_room(count * dimension * 4):
                yield from _in_two_stages(made.__name__, indexed(count, dimension, made), sizes)
            else:
                print(f"skipped: no memory for {count:,} × {dimension}")


def _exact(index: DomainIndex, sizes: Sizes) -> Iterator[Row]:
    rows, queries = np.concatenate([*rows_of(index)]), queries_near(index, sizes.recalls)
    what = f"Recall among {len(index):,} × {index.vectors.dimension}, exact, against"
    finds: dict[str, Find] = {"recall": _ours(index), "product": lambda q: rows @ unit_of(q)}
    aim = 1.1 if len(index) >= 100_000 else None
    yield _row(f"{what} the bare product", _in_turn(queries, finds), aim)
    yield from _against_faiss(what, index, queries, in_lists=False)


def _ours(index: DomainIndex) -> Find:
    eligible = np.ones(len(index), np.bool_)
    return lambda query: search.recall(index, query, eligible)


def _listed(index: DomainIndex, query: Query) -> Places:
    """The places of the dense list."""
    return set(search.lists(index, query, np.ones(len(index), np.bool_))[0].tolist())


def _exactly(act: Find, index: DomainIndex) -> Find:
    """Does the same, but without a partition."""

    def find(query: Query) -> Any:
        partition, index.partition = index.partition, None
        try:
            return act(query)
        finally:
            index.partition = partition

    return find


def _in_two_stages(kind: str, index: DomainIndex, sizes: Sizes) -> Iterator[Row]:
    """As the program chooses against exact, with the share of the best that both find."""
    here = f"Recall among {len(index):,} × {index.vectors.dimension} {kind}"
    queries, listed = queries_near(index, sizes.recalls), partial(_listed, index)
    chosen = _choose(index)
    exact = _exactly(listed, index)
    hits = np.mean([len(listed(query) & exact(query)) / _LISTED for query in queries])
    finds = {"as chosen": _ours(index), "exact": _exactly(_ours(index), index)}
    seconds = _in_turn(queries, finds)
    yield _row(f"{here}, {chosen}, against exact: recall@{_LISTED} {hits:.3f}", seconds)
    if index.partition is not None and index.partition.looked_at:
        yield _against_claim(f"{here}: CPU time of the slowest in a hundred", queries, index)
    finds = {"as chosen": _ours(index), "product": partial(_product, index)}
    yield _row(f"{here} against the bare product", _in_turn(queries, finds))
    yield from _against_faiss(f"{here} against", index, queries, in_lists=True)


def _against_claim(what: str, queries: list[Query], index: DomainIndex) -> Row:
    """The processor's time, of all threads: what a recall takes at most where nothing else runs."""
    seconds = _in_turn(queries, {"recall": _ours(index)}, process_time)["recall"]
    note = f"p50 {as_time(median(seconds))}, p99 {as_time(p99_of(seconds))} / {as_time(_P99)}"
    return Row(f"{what}, against {as_time(_P99)}", (p99_of(seconds) / _P99,), 1.0, note)


def _choose(index: DomainIndex) -> str:
    """Lets the program choose, and tells what it has measured."""
    eligible = np.ones(len(index), np.bool_)
    index.partition = stages.part(index)
    ahead = stages.sampled_ahead(index, index.partition, eligible)
    rows = index.partition.looked_at = stages.rows_to_look_at(ahead, len(index))
    sampled = stages.share_within(ahead, rows or len(index) // stages.MOST)
    told = f"{rows:,} rows are looked at" if rows else "it is exact"
    return f"sampled recall {sampled:.3f}, so {told}"


def _product(index: DomainIndex, query: Query) -> None:
    vector = unit_of(query)
    for _, rows, _ in index.vectors.parts(len(index)):
        rows @ vector


def _against_faiss(
    what: str, index: DomainIndex, queries: list[Query], *, in_lists: bool
) -> Iterator[Row]:
    """Hybrid recall against faiss' search of the 15 nearest alone, on the same vectors."""
    if len(index) * index.vectors.dimension * 4 > _FAISS_BYTES:
        return
    try:
        import faiss  # noqa: PLC0415 (installed for this alone)
    except ImportError:
        print("skipped: no faiss; make bench has it")
        return
    flat = faiss.IndexFlatIP(index.vectors.dimension)
    for rows in rows_of(index):
        flat.add(rows)
    if in_lists:
        yield from _against_lists(what, faiss, flat, index, queries)
        return
    find = _faiss(flat)
    hits = np.mean([len(_listed(index, q) & find(q)) / len(find(q)) for q in queries])
    seconds = _in_turn(queries, {"recall": _ours(index), "faiss": find})
    yield _row(f"{what} faiss' flat index: recall@{_LISTED} {hits:.3f}", seconds)


def _against_lists(
    what: str, faiss: Any, flat: Any, index: DomainIndex, queries: list[Query]
) -> Iterator[Row]:
    """Against faiss' lists, as many as ours, of which it looks into as few as reach the recall."""
    dimension, count = index.vectors.dimension, isqrt(len(index))
    best = [_faiss(flat)(query) for query in queries]
    lists = faiss.IndexIVFFlat(
        faiss.IndexFlatIP(dimension), dimension, count, faiss.METRIC_INNER_PRODUCT
    )
    lists.train(np.concatenate([*islice(rows_of(index), _TRAINED)]))
    for rows in rows_of(index):
        lists.add(rows)
    recall = 0.0
    while recall < stages.LEAST_RECALL and lists.nprobe < count:
        lists.nprobe = min(2 * lists.nprobe, count)
        hits = [len(_faiss(lists)(q) & b) / len(b) for q, b in zip(queries, best, strict=True)]
        recall = float(np.mean(hits))
    ours = [len(_listed(index, q) & b) / len(b) for q, b in zip(queries, best, strict=True)]
    told = f"recall@{_LISTED} {np.mean(ours):.3f}, theirs {recall:.3f}"
    seconds = _in_turn(queries, {"as chosen": _ours(index), "faiss": _faiss(lists)})
    yield _row(f"{what} faiss' {lists.nprobe} of {count:,} lists: {told}", seconds)


def _faiss(index: Any) -> Callable[[Query], Places]:
    return lambda q: set(index.search(unit_of(q)[None, :], _LISTED)[1][0].tolist()) - {-1}


def _in_turn(
    queries: list[Query], finds: Mapping[str, Find], clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """The seconds of every query but the first, which fills caches."""
    seconds: dict[str, list[float]] = {name: [] for name in finds}
    for number, query in enumerate(queries):
        for name, find in finds.items():
            start = clock()
            find(query)
            if number:
                seconds[name].append(clock() - start)
    return seconds


def _row(what: str, seconds: dict[str, list[float]], aim: float | None = None) -> Row:
    ours, theirs = seconds
    return compare(what, aim, seconds, ours, theirs, with_p99=True)


def _has_room(size: int) -> bool:
    """Whether so many bytes of vectors, and as many for other work, are free."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1_024 > 2 * size
    return True
