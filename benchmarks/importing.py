"""An import, from the compressed file to the commit, against bare `executemany` of its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from benchmarks.databases import bare, fresh, opened
from benchmarks.graphs import FLEET, Shape, plant
from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.rows import Rows, insert
from benchmarks.sizes import Sizes
from retrograph.resolvers.importing.graph import import_graph

_TABLES = ("node", "node_state", "node_content", "edge")


def importing(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Gives nothing where the file is not at hand, and says so."""
    source = sizes.file
    if not source.exists():
        print(f"skipped: no {source.name} in the folder of shared data")
        return
    empty = plant(folder / "empty.db", Shape(0, []))
    tables = _imported_tables(empty, source)
    ours, theirs = "import", "bare executemany"
    seconds = interleaved(
        sizes.imports,
        {
            theirs: lambda: _time_bare(empty, tables),
            ours: lambda: _time_import(empty, source),
        },
    )
    nodes, edges = len(tables["node"]), len(tables["edge"])
    what = f"Import of {nodes:,} nodes and {edges:,} edges against bare `executemany` of their rows"
    yield compare(what, 3, seconds, ours, theirs)


def _time_import(empty: Path, source: Path) -> float:
    with opened(fresh(empty)) as scope, source.open("rb") as file:
        return timed(lambda: import_graph(scope, file, FLEET))


def _imported_tables(empty: Path, source: Path) -> dict[str, Rows]:
    _time_import(empty, source)
    connection = sqlite3.connect(empty.with_suffix(".copy"))
    try:
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}
    finally:
        connection.close()


def _time_bare(empty: Path, tables: dict[str, Rows]) -> float:
    def write() -> None:
        connection.execute("BEGIN IMMEDIATE")
        for name, rows in tables.items():
            connection.executemany(insert(name, rows), rows)
        connection.execute("COMMIT")

    with bare(fresh(empty)) as connection:
        return timed(write)
