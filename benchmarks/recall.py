"""Recall from memory against the bare product of a matrix and a vector, and against itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import Row, as_time
from benchmarks.sizes import Sizes
from retrograph.rules import search
from retrograph.rules.domain_index import DomainIndex, Indexed
from retrograph.rules.search import Query, measure_recall

_LISTED = 15
_ENTITIES = 2_000
_CLUSTERS = 5_000
_SPREAD = 0.35
_AT_ONCE = 10_000

Vectors = Any


def recalling(_: Path, sizes: Sizes) -> Iterator[Row]:
    """Hybrid recall of 5, each list of 15: exact at several sizes, then in two stages."""
    for count, dimension in sizes.domains:
        index, rows = _domain(_clustered(count, dimension))
        yield _against_product(index, rows, sizes, aim=1.1 if count >= 100_000 else None)
        yield from _against_faiss(index, rows, sizes)
    count, dimension = sizes.large_domain
    for kind, made in (("clustered", _clustered), ("isotropic", _isotropic)):
        index, _rows = _domain(made(count, dimension))
        yield _two_stages(index, sizes, f"{count:,} × {dimension} {kind}")


def _clustered(count: int, dimension: int) -> Vectors:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((_CLUSTERS, dimension), np.float32)
    rows = rng.standard_normal((count, dimension), np.float32)
    rows *= _SPREAD
    rows += centres[rng.integers(_CLUSTERS, size=count)]
    return rows


def _isotropic(count: int, dimension: int) -> Vectors:
    return np.random.default_rng(1).standard_normal((count, dimension), np.float32)


def _domain(rows: Vectors) -> tuple[DomainIndex, Vectors]:
    index = DomainIndex(rows.shape[1])
    index.reserve(len(rows))
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        index.add(
            [
                Indexed(id, row.tobytes(), (f"urn:{id % _ENTITIES}", f"urn:{id % 7}"))
                for id, row in enumerate(some, start)
            ]
        )
    return index, rows


def _queries(index: DomainIndex, count: int) -> list[Query]:
    rng = np.random.default_rng(2)
    places = rng.integers(len(index), size=count)
    near = index.vectors.take(places) * (1 + 0.05 * rng.standard_normal((count, 1)))
    near += 0.01 * rng.standard_normal(near.shape) / np.sqrt(near.shape[1])
    return [
        Query(vector.astype("<f4").tobytes(), (f"urn:{place % _ENTITIES}",), 0.0)
        for vector, place in zip(near, places.tolist(), strict=True)
    ]


def _against_product(index: DomainIndex, rows: Vectors, sizes: Sizes, aim: float | None) -> Row:
    eligible, ours, theirs = np.ones(len(index), np.bool_), [], []
    for query in _queries(index, sizes.recalls):
        vector = np.frombuffer(query.vector, "<f4")
        theirs.append(_seconds(lambda vector=vector: rows @ vector))
        ours.append(_seconds(lambda query=query: search.recall(index, query, eligible)))
    what = f"Recall among {rows.shape[0]:,} × {rows.shape[1]}, exact, against the bare product"
    return _row(what, aim, ours, theirs, "recall", "product")


def _against_faiss(index: DomainIndex, rows: Vectors, sizes: Sizes) -> Iterator[Row]:
    """Hybrid recall against faiss' exact search of the 15 nearest alone, on the same vectors."""
    try:
        import faiss  # noqa: PLC0415 (installed for this alone)
    except ImportError:
        print("skipped: no faiss; pip install faiss-cpu")
        return
    flat = faiss.IndexFlatIP(rows.shape[1])
    for start in range(0, len(rows), _AT_ONCE):
        flat.add(_unit(rows[start : start + _AT_ONCE]))
    eligible, ours, theirs, hits = np.ones(len(index), np.bool_), [], [], 0.0
    queries = _queries(index, sizes.recalls)
    for query in queries:
        vector = _unit(np.frombuffer(query.vector, "<f4")[None, :])
        theirs.append(_seconds(lambda vector=vector: flat.search(vector, _LISTED)))
        ours.append(_seconds(lambda query=query: search.recall(index, query, eligible)))
        wanted = set(flat.search(vector, _LISTED)[1][0].tolist()) - {-1}
        found = set(index.ids[search.lists(index, query, eligible)[0]].tolist())
        hits += len(found & wanted) / len(wanted)
    what = (
        f"Recall among {rows.shape[0]:,} × {rows.shape[1]}, exact, against faiss' flat index: "
        f"recall@{_LISTED} {hits / len(queries):.3f}"
    )
    yield _row(what, None, ours, theirs, "recall", "faiss")


def _unit(rows: Vectors) -> Vectors:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _two_stages(index: DomainIndex, sizes: Sizes, kind: str) -> Row:
    """Two stages and exact on the same queries, with the share of the best that both find."""
    eligible = np.ones(len(index), np.bool_)
    index.take_signs()
    sampled = measure_recall(index, eligible)
    staged: list[float] = []
    exact: list[float] = []
    hits = 0.0
    queries = _queries(index, sizes.recalls)
    for query in queries:
        found = []
        for two_stage, seconds in ((True, staged), (False, exact)):
            index.two_stage = two_stage
            seconds.append(_seconds(lambda q=query: search.recall(index, q, eligible)))
            found.append(set(search.lists(index, query, eligible)[0].tolist()))
        hits += len(found[0] & found[1]) / max(1, len(found[1]))
    chosen = "two stages" if sampled >= search.LEAST_RECALL else "exact"
    what = (
        f"Recall among {kind} in two stages against exact: recall@{_LISTED} "
        f"{hits / len(queries):.3f}, sampled {sampled:.3f}, so it is {chosen}"
    )
    return _row(what, None, staged, exact, "two stages", "exact")


def _row(
    what: str,
    aim: float | None,
    ours: list[float],
    theirs: list[float],
    name: str,
    other: str,
) -> Row:
    # The first of each fills caches.
    pairs = list(zip(ours, theirs, strict=True))[1:] or list(zip(ours, theirs, strict=True))
    note = " / ".join(
        f"{as_time(median(side))} {label} (p99 {as_time(_p99(side))})"
        for side, label in (([a for a, _ in pairs], name), ([b for _, b in pairs], other))
    )
    return Row(what, tuple(a / b for a, b in pairs), aim, note)


def _p99(seconds: list[float]) -> float:
    return max(seconds) if len(seconds) < 2 else quantiles(seconds, n=100)[-1]


def _seconds(action: Any) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start
