"""`python -m benchmarks [--write] [name…]`: measures, prints, and writes into the README."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalogue import BENCHMARKS
from benchmarks.measure import Row
from benchmarks.report import line, write_readme
from benchmarks.sizes import FULL


def main(arguments: Sequence[str]) -> None:
    """Runs the benchmarks named, or all of them; a whole run is written down in any case.

    Each is written as soon as it is done.
    """
    names, write = _asked(arguments)
    for name in names or BENCHMARKS:
        rows = _run(name)
        if write or not names:
            write_readme({name: rows}, list(BENCHMARKS))


def _asked(arguments: Sequence[str]) -> tuple[list[str], bool]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(BENCHMARKS)}; none: all")
    parser.add_argument("--write", action="store_true", help="put the tables into the README")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.name if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return asked.name, asked.write


def _run(name: str) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="retrograph-bench-") as folder:
        for row in BENCHMARKS[name](Path(folder), FULL):
            print(line(row), end="", flush=True)
            rows.append(row)
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
