"""Cascades against the literal query: one recursive CTE that carries its path as text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.cascades import fell
from benchmarks.databases import bare, fresh, opened
from benchmarks.graphs import FLEET, ROOT, TENANT, plant, woven, woven_root
from benchmarks.measure import Row, as_time, timed
from benchmarks.sizes import Sizes

WIDTH = 10

_STEPS = 10_000
"""After so many steps of its machine SQLite asks whether to go on."""

# A row for every path from the root: the text keeps it from going in circles, nothing else does.
_LITERAL = """
WITH RECURSIVE fallen (node_id, validity, path) AS (
    SELECT :root, 4, '/' || :root || '/'
    UNION ALL
    SELECT e.target_id,
           min(fallen.validity, CASE e.type WHEN 1 THEN 3 WHEN 7 THEN 2 ELSE 4 END),
           fallen.path || e.target_id || '/'
    FROM fallen
    JOIN edge AS e
        ON e.tenant_id = :tenant AND e.fleet_id = :fleet AND e.source_id = fallen.node_id
    WHERE e.type IN (1, 2, 5, 6, 7) AND instr(fallen.path, '/' || e.target_id || '/') = 0
)
UPDATE node_state SET validity = worst.validity
FROM (SELECT node_id, max(validity) AS validity, min(path) FROM fallen GROUP BY node_id) AS worst
WHERE node_state.id = worst.node_id
"""


def literal(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Ours against the literal query, which is stopped when patience ends."""
    template = plant(folder / "woven.db", woven(WIDTH, sizes.layers, sizes.rounds + 1))
    query = _Literal(template, sizes.patience)
    theirs = timed(query.run)
    ours = _time_ours(template, sizes)
    end = "stopped after" if query.stopped else "ended after"
    yield Row(
        f"Literal query with path strings, against a cascade in storage: "
        f"{1 + WIDTH * sizes.layers} nodes, width {WIDTH}, fan {WIDTH}, depth {sizes.layers}",
        tuple(theirs / each for each in ours),
        1_000,
        f"literal query {end} {as_time(theirs)} / {as_time(median(ours))} storage, warm",
        at_least=True,
    )


def _time_ours(template: Path, sizes: Sizes) -> list[float]:
    """The seconds of felling one copy of the graph after the other in a store that runs."""
    nodes = 1 + WIDTH * sizes.layers
    roots = [woven_root(WIDTH, sizes.layers, copy) for copy in range(sizes.rounds + 1)]
    with opened(fresh(template), warm=True) as scope:
        return [timed(partial(fell, scope, nodes, root)) for root in roots][1:]


class _Literal:
    """The literal query on a copy of a database; `stopped` tells how it ended."""

    def __init__(self, template: Path, patience: float) -> None:
        self._template = template
        self._patience = patience
        self.stopped = False

    def run(self) -> None:
        """Runs it to its end or to the end of patience."""
        end = perf_counter() + self._patience
        values = {"root": ROOT, "tenant": TENANT, "fleet": FLEET}
        with bare(fresh(self._template)) as connection:
            connection.set_progress_handler(lambda: perf_counter() > end, _STEPS)
            try:
                connection.execute(_LITERAL, values)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                self.stopped = True
