"""Where something can't be had here, the tests say what it is and how to get it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import PATIENCE, environment
from tests.missing import browser, node_script, program
from tests.shared import ROOT


def test_a_missing_program_skips_on_a_user_s_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no-such-daemon is missing"):
        program("no-such-daemon", "some-package")


def test_a_missing_program_fails_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="apt install some-package"):
        program("no-such-daemon", "some-package")


def test_a_browser_is_the_one_that_is_named_or_the_first_that_is_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chrome, own = tmp_path / "google-chrome", tmp_path / "own"
    for path in (chrome, own):
        path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert browser() == str(chrome)
    monkeypatch.setenv("CHROMIUM", str(own))
    assert browser() == str(own)


def test_a_browser_that_is_named_wrongly_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(pytest.fail.Exception, match="apt install chromium"):
        browser()


def test_missing_packages_of_node_are_made_by_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("tests.missing.program", lambda name, package: name)
    monkeypatch.setattr("pathlib.Path.exists", lambda self: False)

    with pytest.raises(pytest.fail.Exception, match="make tests/node/node_modules/"):
        node_script("some.mjs")


BARE = """
import sys
for name in ("pyodbc", "clr_loader", "dotnetcore2", "mssqlcli", "pythonnet"):
    sys.modules[name] = None  # as where its shared libraries are missing, or it itself
"""


def run_bare(folder: Path, ci: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs tests as where neither a driver manager nor the parser is installed."""
    (folder / "bare.py").write_text(BARE)
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "bare", "-p", "no:cacheprovider"]
    command += ["-m", "not long"]
    done = subprocess.run(
        [*command, *words],
        cwd=ROOT,
        env=environment(PYTHONPATH=f"{ROOT}{os.pathsep}{folder}", CI=ci),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "the driver manager of ODBC is missing" in done.stdout, done.stdout + done.stderr
    assert "apt install unixodbc" in done.stdout
    return done


CHOSEN = (
    "tests/storage/test_staleness.py", "tests/storage/test_mssql_errors.py",
    "tests/test_servers.py", "tests/tsql/test_planted.py",
)  # fmt: skip
"""Files that need what is missing, and files of which some tests do."""


@pytest.mark.parametrize(
    "collected", [CHOSEN, pytest.param(("tests",), marks=pytest.mark.long)], ids=["chosen", "all"]
)
def test_a_machine_without_drivers_and_parser_runs_the_rest(
    tmp_path: Path, collected: tuple[str, ...]
) -> None:
    names = " or ".join(Path(file).stem for file in CHOSEN)
    done = run_bare(tmp_path, "", *collected, "-k", names)
    assert done.returncode == 0, done.stdout
    assert "the parser of SQL Server (by clr_loader" in done.stdout
    assert re.search(r"=+ [1-9]\d* passed, [1-9]\d* skipped", done.stdout)


@pytest.mark.parametrize("name", ["test_mssql_errors", "test_staleness"])
def test_a_machine_without_drivers_and_parser_fails_under_ci(tmp_path: Path, name: str) -> None:
    """Where a file needs them, and where some of its tests do."""
    assert run_bare(tmp_path, "true", f"tests/storage/{name}.py").returncode
