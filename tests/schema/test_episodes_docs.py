"""docs/episodes.md: what it says to type works, and its numbers are those in force."""

from __future__ import annotations

import re
from pathlib import Path

from retrograph.rules import compaction, fusion, search, stages, utility
from retrograph.rules.domain_index import bytes_of_episode
from retrograph.rules.entity import EntityKind, RelationType
from retrograph.rules.reflection import EpisodeStatus
from retrograph.settings import Settings
from retrograph.storage.domain_indexes import DEFAULT_BYTES
from tests.demo import serving_demo
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "episodes.md").read_text()
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_it_says_to_type_learns_and_forgets(tmp_path: Path) -> None:
    with serving_demo(tmp_path) as demo:
        told = demo.run("bash", "-eu", "-c", demo.found_at(BLOCK)).splitlines()
    stored, promoted, recalled, retired, nothing = told
    assert '{"id":"1","status":"QUARANTINED"}' in stored
    assert '{"status":"ACTIVE","decidedBy":"ci"}' in promoted
    assert '"graph":0.5' in recalled
    assert "read it again before billing" in recalled
    assert '{"retiredCount":1,"fallenCount":0}' in retired
    assert '"recall":[]' in nothing


def test_its_numbers_are_those_in_force() -> None:
    assert f"(`topK`, {search.DEFAULT_K})" in PAGE
    assert f"`threshold` ({search.DEFAULT_THRESHOLD})" in PAGE
    assert f"`1 / ({fusion.RANK_OFFSET} + rank)`" in PAGE
    assert f"Up to {stages.TWO_STAGES_FROM:,} episodes" in PAGE
    assert f"at least {stages._FEWEST:,} episodes" in PAGE
    assert f"one in {stages.MOST} of them" in PAGE
    assert stages.LEAST_RECALL == 0.99
    assert f"({DEFAULT_BYTES:,};" in PAGE
    assert Settings().recall_memory == DEFAULT_BYTES
    assert f"{bytes_of_episode(1_536) / 1_000:.1f}\nKB" in PAGE
    assert f"{compaction.UNUSED // utility.DAY} days" in PAGE
    assert f"worth less than {compaction.LEAST_UTILITY}" in PAGE
    assert f"cosine is {compaction.SAME_COSINE} or more" in PAGE
    assert f"first {compaction.MAX_COMPARED:,} are compared" in PAGE
    assert f"+ {utility.WORTH_OF_A_USE} × uses" in PAGE
    names = [each.name for kind in (EpisodeStatus, EntityKind, RelationType) for each in kind]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
