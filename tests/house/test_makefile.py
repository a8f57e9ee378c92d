"""`make` alone lists every target, and says what is missing where Python can't do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.house.files import copy_checkout
from tests.shared import ROOT


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_make_alone_lists_the_targets_a_line_each() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    done = make(ROOT)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^  make (\S+) +\S", done.stdout, re.MULTILINE) == phony.group(1).split()
    assert len(done.stdout.splitlines()) == len(phony.group(1).split())


@pytest.mark.parametrize("target", ["test", "test-long"])
def test_the_tests_run_on_every_core_unless_told_otherwise(target: str) -> None:
    assert " -n auto " in make(ROOT, "-n", target).stdout
    told = make(ROOT, "-n", target, "PYTEST_ARGS=-n 0 -k sqlite").stdout
    assert told.splitlines()[-1].endswith(" -n 0 -k sqlite")


def test_a_new_environment_gets_the_parser_again(tmp_path: Path) -> None:
    copy = copy_checkout(tmp_path / "copy")
    (copy / ".venv").mkdir()
    (copy / ".venv" / ".parser").touch()
    assert "requirements-tsql.lock" in make(copy, "-n", "test").stdout


@pytest.mark.parametrize(
    ("script", "advice"),
    [
        (None, "Install Python 3.11 or newer"),
        ("exit 1", "is too old"),
        ('case "$2" in *ensurepip*) exit 1;; esac', "apt install python3-venv"),
    ],
)
def test_an_unfit_python_is_refused_with_advice(
    script: str | None, advice: str, tmp_path: Path
) -> None:
    copy = copy_checkout(tmp_path / "copy")
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    done = make(copy, "test", f"PYTHON={python}")
    assert done.returncode != 0
    assert advice in done.stdout
    assert not (copy / ".venv").exists()


def test_the_ci_script_runs_the_checks_then_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().splitlines()[-2:] == ["make check", "make test"]
