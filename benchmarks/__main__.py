"""`python -m benchmarks [name…]`: measures, prints, and keeps a whole run in the README."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.catalogue import BENCHMARKS
from benchmarks.measure import Row
from benchmarks.report import line, write_readme
from benchmarks.sizes import FULL


def main(arguments: Sequence[str]) -> None:
    """Runs the benchmarks named, or all of them; only a whole run is written down."""
    names = _names(arguments)
    rows = list(_run(names or list(BENCHMARKS)))
    if not names:
        write_readme(rows)


def _names(arguments: Sequence[str]) -> list[str]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(BENCHMARKS)}; none: all")
    names: list[str] = parser.parse_args(arguments).name
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return names


def _run(names: Sequence[str]) -> Iterator[Row]:
    for name in names:
        with tempfile.TemporaryDirectory(prefix="retrograph-bench-") as folder:
            for row in BENCHMARKS[name](Path(folder), FULL):
                print(line(row), end="", flush=True)
                yield row


if __name__ == "__main__":
    main(sys.argv[1:])
