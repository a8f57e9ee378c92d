"""MariaDB: cascades in procedures against a row loop and against SQLite, the past against now."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.as_of import PAST, PRESENT, reads, time_reads
from benchmarks.cascades import COLD, fell, time_cascade
from benchmarks.graphs import layered, plant
from benchmarks.mariadb_store import analyze, give_past, heal, own_mariadb, planted
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.row_loop import fell_by_rows
from benchmarks.sizes import Sizes
from retrograph.resolvers.scope import Scope
from tests.servers import MariaDBServer

PROCEDURE, LOOP = "procedure", "row loop"


def mariadb(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """All that is measured on a server; nothing, and a word about it, where none can be started."""
    with own_mariadb() as server:
        if server is not None:
            yield from _against_row_loop(server, sizes)
            yield from _on_large_graph(server, folder, sizes)


def _against_row_loop(server: MariaDBServer, sizes: Sizes) -> Iterator[Row]:
    count = sizes.small
    with planted(server, layered(count, sizes.depth)) as scope:
        seconds = interleaved(
            sizes.server_rounds,
            {
                LOOP: lambda: _time_loop(scope, count),
                PROCEDURE: lambda: _time_procedure(scope, count),
            },
        )
    what = f"MariaDB, cascade of {count:,} nodes: a row loop against the procedure"
    yield compare(what, 15, seconds, LOOP, PROCEDURE, at_least=True)


def _on_large_graph(server: MariaDBServer, folder: Path, sizes: Sizes) -> Iterator[Row]:
    shape = layered(sizes.large, sizes.depth)
    template = plant(folder / "dag.db", shape)
    with planted(server, shape) as scope:
        seconds = interleaved(
            sizes.server_rounds,
            {
                PROCEDURE: lambda: _time_procedure(scope, sizes.large),
                COLD: lambda: time_cascade(template, sizes.large, warm=False),
            },
        )
        what = f"Cascade of {sizes.large:,} nodes, MariaDB's procedure against SQLite's file"
        yield compare(what, None, seconds, PROCEDURE, COLD)
        yield from _as_of(scope, sizes)


def _as_of(scope: Scope, sizes: Sizes) -> Iterator[Row]:
    store = scope.store
    middle = give_past(store, sizes.versions)
    analyze(store)
    for read in reads(sizes):
        seconds = interleaved(
            sizes.server_rounds,
            {
                PRESENT: partial(time_reads, store, None, read),
                PAST: partial(time_reads, store, middle, read),
            },
        )
        each = {name: [one / len(read.ids) for one in taken] for name, taken in seconds.items()}
        rows = sizes.large * sizes.versions
        what = f"MariaDB, AS OF against the present, {rows:,} versions: {read.what}"
        yield compare(what, None, each, PAST, PRESENT)


def _time_procedure(scope: Scope, count: int) -> float:
    heal(scope.store)
    return timed(lambda: fell(scope, count))


def _time_loop(scope: Scope, count: int) -> float:
    heal(scope.store)
    felled = 0

    def act() -> None:
        nonlocal felled
        felled = fell_by_rows(scope.store)

    seconds = timed(act)
    if felled != count:
        raise AssertionError(f"the loop felled {felled} of {count} nodes")
    return seconds
