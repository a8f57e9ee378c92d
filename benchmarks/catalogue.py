"""All benchmarks by name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.answers import answers
from benchmarks.as_of import as_of
from benchmarks.cascades import against_executemany, growth
from benchmarks.checkpoints import checkpoints
from benchmarks.delivery_times import delivery_times
from benchmarks.fan_out import fan_out
from benchmarks.healing import healing
from benchmarks.importing import importing
from benchmarks.judging import judging
from benchmarks.literal import literal
from benchmarks.mariadb import mariadb
from benchmarks.measure import Row
from benchmarks.paused_reader import paused_reader
from benchmarks.recall import recalling
from benchmarks.rewinding import rewinding
from benchmarks.served import served
from benchmarks.sizes import Sizes
from benchmarks.working_memories import working_memory

Benchmark = Callable[[Path, Sizes], Iterator[Row]]
"""Measures in an empty folder of its own and gives rows as they are known."""

BENCHMARKS: Mapping[str, Benchmark] = {
    "cascade": against_executemany,
    "literal": literal,
    "growth": growth,
    "as-of": as_of,
    "judging": judging,
    "healing": healing,
    "rewind": rewinding,
    "checkpoints": checkpoints,
    "import": importing,
    "http": served,
    "answers": answers,
    "fan-out": fan_out,
    "delivery-times": delivery_times,
    "paused-reader": paused_reader,
    "recall": recalling,
    "working-memory": working_memory,
    "mariadb": mariadb,
}
