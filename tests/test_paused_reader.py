"""A subscriber that reads nothing beside others that do, served by a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.databases import opened
from benchmarks.fan_out import fell, settle
from benchmarks.graphs import Shape, plant
from benchmarks.listeners import listening
from benchmarks.paused_reader import QUERY
from benchmarks.processes import ours, running
from retrograph.rules.edge_type import EdgeType
from retrograph.storage.node_writes import Content

STARS, LEAVES, READERS, PAYLOAD_BYTES = 6, 400, 20, 20_000


@pytest.mark.long
def test_what_a_paused_reader_is_not_told_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are told everything; what waits for it is in the database, not in the process."""
    # Else what a thread has freed stays with it, and looks like growth until each has had its turn.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    roots = [1 + star * (LEAVES + 1) for star in range(STARS)]
    edges = [
        (root, leaf, EdgeType.REQUIRES)
        for root in roots
        for leaf in range(root + 1, root + 1 + LEAVES)
    ]
    content = Content(json.dumps("x" * PAYLOAD_BYTES), None, 0.9, None)
    database = plant(tmp_path / "stars.db", Shape(STARS * (LEAVES + 1), edges), content)
    held = []
    with (
        running(ours(database)) as server,
        listening(server.port, 1, QUERY),
        listening(server.port, READERS, QUERY) as readers,
        opened(database) as scope,
    ):
        settle(server.port)
        for root in roots:
            fell(scope, root)
            readers.hear(READERS * LEAVES)
            held.append(server.resident())
    told = (STARS - 2) * LEAVES * PAYLOAD_BYTES
    assert held[-1] - held[1] < told / 4
