"""A subscriber that reads nothing: what it costs those beside it, and the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.delivery_times import Fleet, alternately, as_times, fleet, p99
from benchmarks.graphs import ROOT, Shape, plant
from benchmarks.listeners import listening
from benchmarks.measure import Row
from benchmarks.sizes import Sizes
from retrograph.storage.node_writes import Content

QUERY = """subscription { events(fleetId: 1, types: [NODE_STALE]) {
    cursor type node { id payload } at } }"""
PAYLOAD_BYTES = 20_000
"""Of each event: the system takes some megabytes for a reader before it lets the server wait."""

BESIDE, ALONE = "beside a paused reader", "without it"


def paused_reader(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Two servers in turn, one of which has a subscriber that reads nothing."""
    content = Content(json.dumps("x" * PAYLOAD_BYTES), None, 0.9, None)
    middle, end = ROOT + sizes.told // 2, ROOT + sizes.told
    with ExitStack() as stack:
        fleets: dict[str, Fleet] = {}
        for number, name in enumerate((BESIDE, ALONE)):
            database = plant(folder / f"{number}.db", Shape(sizes.told, []), content)
            fleets[name] = stack.enter_context(fleet(database, sizes.readers, QUERY, ()))
        stack.enter_context(listening(fleets[BESIDE].telling.port, 1, QUERY))
        taken = alternately(fleets, range(ROOT, middle))
        before = {name: each.telling.resident() for name, each in fleets.items()}
        for name, more in alternately(fleets, range(middle, end)).items():
            taken[name] += more
        grown = {name: fleets[name].telling.resident() - before[name] for name in fleets}
    note = " / ".join(
        f"{as_times(taken[name])}, {grown[name] / 1e6:+.1f} MB in the second half, {name}"
        for name in fleets
    )
    what = f"from a commit to its delivery to the last of {sizes.readers} WebSockets, p99"
    yield Row(
        f"{what}: {BESIDE} against {ALONE}", (p99(taken[BESIDE]) / p99(taken[ALONE]),), None, note
    )
