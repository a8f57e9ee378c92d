"""Databases with a long past, in which the same graph is to be seen at most instants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.databases import bare
from benchmarks.graphs import Shape, plant

STEP = 1_000_000
"""Microseconds between two versions of a node."""

# Closed versions of every node, half of them healthy; the nodes don't change all at one instant.
_CLOSE_STATES = """
WITH RECURSIVE version (number) AS (
    SELECT 0 UNION ALL SELECT number + 1 FROM version WHERE number + 1 < :versions
)
INSERT INTO node_state_history
    (id, tenant_id, fleet_id, validity, projected, pinned, valid_from, valid_to)
SELECT id, tenant_id, fleet_id, 1 + 2 * (number % 2), 1 + 2 * (number % 2), 0,
       valid_from + number * :step + CASE number WHEN 0 THEN 0 ELSE id % 1000 END,
       valid_from + (number + 1) * :step + id % 1000
FROM node_state CROSS JOIN version
ORDER BY id, number
"""
_OPEN_STATES = "UPDATE node_state SET valid_from = valid_from + :versions * :step + id % 1000"

# One edge in ten was unlinked and linked anew twice; half-way its second life is the one to see.
_CLOSE_EDGES = """
INSERT INTO edge_history
    (id, tenant_id, fleet_id, source_id, target_id, type, valid_from, valid_to)
SELECT id + 1000000000 * life.column1, tenant_id, fleet_id, source_id, target_id, type,
       valid_from + :span * life.column2 / 8, valid_from + :span * life.column3 / 8
FROM edge CROSS JOIN (VALUES (1, 0, 1), (2, 2, 6)) AS life
WHERE id % 10 = 0
"""
_OPEN_EDGES = "UPDATE edge SET valid_from = valid_from + :span * 7 / 8 WHERE id % 10 = 0"


@dataclass(frozen=True, slots=True)
class Past:
    """A database, and the instant half-way through its history."""

    path: Path
    middle: int


def with_past(path: Path, shape: Shape, versions: int) -> Past:
    """Plants a graph with `versions` closed versions of the state of every node."""
    plant(path, shape)
    span = (versions + 1) * STEP
    values = {"versions": versions, "step": STEP, "span": span}
    with bare(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in (_CLOSE_STATES, _OPEN_STATES, _CLOSE_EDGES, _OPEN_EDGES):
            connection.execute(statement, values)
        connection.execute("UPDATE fleet SET clock = created_at + :span", values)
        connection.execute("COMMIT")
        ((end,),) = connection.execute("SELECT clock FROM fleet")
    return Past(path, end - span // 2)
