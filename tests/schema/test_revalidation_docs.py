"""docs/revalidation.md: what it says to type works, and its tables and numbers are true."""

from __future__ import annotations

import re
from pathlib import Path

from retrograph.rules import errors
from retrograph.rules.judgement import MAX_CLAIMS, MAX_LEASE_SECONDS, MOST_ATTEMPTS
from retrograph.storage.task_records import TaskStatus
from tests.demo import serving_demo
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "revalidation.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_it_says_to_type_judges_all_that_is_open(tmp_path: Path) -> None:
    by_hand, by_program = BLOCKS
    assert "`.venv/bin/retrograph demo --no-judge`" in PAGE
    with serving_demo(tmp_path, "--no-judge") as demo:
        listed, done, decided = demo.run("bash", "-eu", "-c", demo.found_at(by_hand)).splitlines()
        assert '"blockedBy":[{"node":{"key":"usage:4713"}}]' in listed
        assert '"node":{"key":"usage:4713","validity":"INVALID"}' in done
        assert '"kind":"REFUTED","note":"The reading was wrong.","by":"me"' in decided
        told = demo.run("bash", "-eu", "-c", by_program)
        assert "VERIFIED report:month@corrected" in told
        assert demo.run("bash", "-eu", "-c", by_program) == ""


def test_its_tables_name_every_status_and_refusal() -> None:
    named = set(re.findall(r"`([A-Z_]+)`", "".join(re.findall(r"^\|.*?\|", PAGE, re.MULTILINE))))
    refusals = {kind.code for kind in errors.TaskRefused.__subclasses__()}
    assert {each.name for each in TaskStatus} <= named
    assert refusals - {"NOT_DEAD_LETTERED"} <= named


def test_its_numbers_are_those_in_force() -> None:
    assert f"up to {MAX_CLAIMS} at once, for 1 to {MAX_LEASE_SECONDS:,} seconds" in PAGE
    assert MOST_ATTEMPTS == 5
