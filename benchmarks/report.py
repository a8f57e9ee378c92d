"""The results of benchmarks, as text for a terminal and for the README."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Row

README = Path(__file__).with_name("README.md")

MARKS = ("<!-- results -->\n", "<!-- end of results -->")
"""What stands before and after the results in the README."""
_HEAD = "| what | ratio (spread) | aim | met | median times |\n|---|---|---|---|---|\n"
_SECTION = re.compile(r"^### `([a-z-]+)`\n", re.MULTILINE)


def line(row: Row) -> str:
    """A row as a line of a table."""
    low, high = (_number(of(row.ratios)) for of in (min, max))
    aim, met = _aim(row)
    cells = (row.what, f"{_number(row.ratio)} ({low}–{high})", aim, met, row.note)
    return f"| {' | '.join(cells)} |\n"


def _aim(row: Row) -> tuple[str, str]:
    if row.aim is None:
        return "–", "–"
    return f"{'≥' if row.at_least else '≤'} {row.aim:,}", "yes" if row.met else "**no**"


def write_readme(measured: Mapping[str, Iterable[Row]], order: Sequence[str]) -> None:
    """Puts the tables of benchmarks, by name, where the README has their last ones.

    Those that were not measured stay, each under the line that says when it was; all in `order`.
    """
    text = README.read_text(encoding="utf-8")
    begin, end = MARKS
    before, rest = text.split(begin)
    kept, after = rest.split(end)
    _, *parts = _SECTION.split(kept)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    sections |= {name: _table(rows) for name, rows in measured.items()}
    told = "".join(f"### `{name}`\n{sections[name]}" for name in order if name in sections)
    README.write_text(f"{before}{begin}{told}{end}{after}", encoding="utf-8")


def _table(rows: Iterable[Row]) -> str:
    return f"\n{_conditions()}\n\n{_HEAD}{''.join(map(line, rows))}\n"


def _conditions() -> str:
    return (
        f"Measured in one run on {datetime.now(UTC):%Y-%m-%d}: "
        f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}."
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
