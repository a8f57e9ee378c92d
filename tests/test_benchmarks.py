"""Every benchmark runs, on graphs too small for its ratios to mean anything."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks import report
from benchmarks.cascades import fell
from benchmarks.catalogue import BENCHMARKS
from benchmarks.databases import opened
from benchmarks.graphs import FLEET, layered, plant
from benchmarks.healing import Work, changed_among, half
from benchmarks.measure import Row
from benchmarks.sizes import TINY
from benchmarks.working_memories import tokens_of_tasks
from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.complete_revalidation import (
    Completion,
    Outcome,
    complete_revalidation,
)
from retrograph.rules.validity import Validity
from retrograph.storage.open_work import all_open

TINY_FILE = (
    {"node": {"key": "supplier", "kind": "ASSERTION", "payload": {"name": "North Grid"}}},
    {"node": {"key": "invoice", "kind": "ASSERTION"}},
    {"edge": {"source": "supplier", "target": "invoice", "type": "DERIVED_FROM"}},
)


QUICK = frozenset({"literal", "import"})
"""Those that the quick tests run; the others take minutes in all, even on the smallest graphs."""


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in BENCHMARKS],
)
def test_it_runs(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name == "mariadb":
        request.getfixturevalue("mariadb_server")
    file = tmp_path / "graph.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in TINY_FILE))
    rows = list(BENCHMARKS[name](tmp_path, replace(TINY, file=file)))
    assert rows
    assert all(math.isfinite(row.ratio) and row.ratio > 0 for row in rows)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_counted_in_memory_is_what_workers_would_do(tmp_path: Path, seed: int) -> None:
    path = plant(tmp_path / "dag.db", layered(TINY.small, TINY.depth))
    with opened(path) as scope:
        fell(scope, TINY.small, effect=Validity.DEFINITELY_STALE)
        work = Work.read(scope)
        changed = changed_among(work.tasks, Random(seed))
        left = []
        while tasks := claim_revalidations(scope, FLEET, "w", 1):
            (task,) = tasks
            token, unchanged = task.lease_token or "", task.node_id not in changed
            verified = Completion(task.id, token, Outcome.VERIFIED, unchanged)
            complete_revalidation(scope, FLEET, verified)
            with scope.snapshot(FLEET) as snapshot:
                left.append(len(all_open(snapshot)))
        assert work.judged(changed) == left
        assert 1 <= half(left, len(work.tasks)) <= len(left) <= len(work.tasks)


def test_a_whole_task_takes_less_than_a_quarter_of_its_tokens_and_keeps_what_is_pinned() -> None:
    row = tokens_of_tasks(4)
    assert row.met
    assert max(row.ratios) < 0.26


def test_an_import_without_its_file_is_skipped_aloud(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = replace(TINY, file=tmp_path / "absent.jsonl.gz")
    assert list(BENCHMARKS["import"](tmp_path, sizes)) == []
    assert "skipped: no absent.jsonl.gz" in capsys.readouterr().out


def test_the_median_decides_whether_an_aim_is_met() -> None:
    assert Row("at most", (0.5, 0.9, 3.0), 1.0, "").met
    assert not Row("at most", (0.5, 1.1, 1.2), 1.0, "").met
    assert Row("at least", (900.0, 1000.0, 1100.0), 1_000, "", at_least=True).met
    assert Row("only reported", (900.0,), None, "").met
    assert not Row("at least", (900.0, 999.0, 1100.0), 1_000, "", at_least=True).met


def test_a_run_replaces_its_tables_of_the_readme_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(report.README.read_text())
    monkeypatch.setattr(report, "README", readme)
    before = readme.read_text()
    row = Row("a thing", (2.0, 1.0, 4.0), 1.5, "2 s / 1 s")
    report.write_readme({"growth": [row]}, list(BENCHMARKS))
    after = readme.read_text()
    assert "| a thing | 2.00 (1.00–4.00) | ≤ 1.5 | **no** | 2 s / 1 s |" in after
    assert sections(after).keys() == sections(before).keys()
    changed = {name for name, text in sections(after).items() if text != sections(before)[name]}
    assert changed == {"growth"}
    head, tail = report.MARKS
    assert after.split(head)[0] == before.split(head)[0]
    assert after.split(tail)[1] == before.split(tail)[1]


def sections(text: str) -> dict[str, str]:
    """The tables between the marks, by the names of their benchmarks."""
    head, tail = report.MARKS
    _, _, rest = text.partition(head)
    _, *parts = rest.partition(tail)[0].split("### ")
    return {part.partition("\n")[0].strip("`"): part for part in parts}
