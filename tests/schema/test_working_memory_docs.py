"""docs/working-memory.md: what it says to type works, and its numbers are those in force."""

from __future__ import annotations

import re
from pathlib import Path

from retrograph.rules.budget import SUMMARY_LENGTH
from retrograph.rules.limits import MAX_TEXT_LENGTH
from retrograph.rules.names import MAX_NAME_LENGTH
from retrograph.rules.working_memory import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_TREE_DEPTH,
    TAIL,
    HypothesisStatus,
)
from tests.demo import serving_demo
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "working-memory.md").read_text()
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_it_says_to_type_makes_room(tmp_path: Path) -> None:
    with serving_demo(tmp_path) as demo:
        first, second, shown = demo.run("bash", "-eu", "-c", demo.found_at(BLOCK)).splitlines()
    assert '"memory":{"version":1,"tokens":' in first
    assert '"version":2,"evictions":[{"kind":"SUMMARIZED","observation":1}' in second
    assert r"- contract (pinned) = \"C-77\"\n" in shown
    assert "2 tariff: 0.31 EUR per kWh" in shown
    assert "kWh on the first of March" not in shown


def test_its_numbers_are_those_in_force() -> None:
    assert f"({DEFAULT_BUDGET:,}, or up to {MAX_BUDGET:,} by `budget`)" in PAGE
    assert f"up to {MAX_TEXT_LENGTH:,} characters" in PAGE
    assert f"at most {MAX_TREE_DEPTH} deep" in PAGE
    assert f"names of up to {MAX_NAME_LENGTH} characters" in PAGE
    assert f"first {SUMMARY_LENGTH} characters" in PAGE
    assert TAIL == 3
    assert all(f"`{each.name}`" in PAGE for each in HypothesisStatus)
