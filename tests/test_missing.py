"""Where something can't be had here, the tests say what it is and how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.missing import browser, node_script, program


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
