"""The table of results, as text for a terminal and for the README."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Row

README = Path(__file__).with_name("README.md")

MARKS = ("<!-- results -->\n", "<!-- end of results -->")
"""What stands before and after the table in the README."""
_HEAD = "| what | ratio (spread) | aim | met | median times |\n|---|---|---|---|---|\n"


def line(row: Row) -> str:
    """A row as a line of the table."""
    low, high = (_number(of(row.ratios)) for of in (min, max))
    aim, met = _aim(row)
    cells = (row.what, f"{_number(row.ratio)} ({low}–{high})", aim, met, row.note)
    return f"| {' | '.join(cells)} |\n"


def _aim(row: Row) -> tuple[str, str]:
    if row.aim is None:
        return "–", "–"
    return f"{'≥' if row.at_least else '≤'} {row.aim:,}", "yes" if row.met else "**no**"


def write_readme(rows: Iterable[Row]) -> None:
    """Puts the table where the README has the last one."""
    text = README.read_text(encoding="utf-8")
    begin, end = MARKS
    before, rest = text.split(begin)
    _, after = rest.split(end)
    table = f"{_conditions()}\n\n{_HEAD}{''.join(map(line, rows))}"
    README.write_text(f"{before}{begin}{table}{end}{after}", encoding="utf-8")


def _conditions() -> str:
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with `python -m benchmarks`: "
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
