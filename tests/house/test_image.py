"""The container image: linted, small at run time, without root, and honest about its health."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from retrograph.settings import check_exposure, is_loopback, load_settings
from tests.shared import ROOT

DOCKERFILE = ROOT / "Dockerfile"
SECRET = "what the environment holds for a name without a value"


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    done = subprocess.run(
        [hadolint, "--failure-threshold", "style", DOCKERFILE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_what_runs_is_built_elsewhere_and_not_by_root() -> None:
    stages = re.split(r"^(?=FROM )", DOCKERFILE.read_text(), flags=re.MULTILINE)[1:]
    assert len(stages) == 2
    final = stages[-1]
    assert "COPY --from=build" in final
    assert re.search(r"^USER (?!root|0)\S+$", final, re.MULTILINE)
    assert "pip install" not in final


def test_the_image_says_how_to_ask_for_its_health() -> None:
    text = DOCKERFILE.read_text()
    assert re.search(r"^HEALTHCHECK .*\\\n +CMD .*/health/live", text, re.MULTILINE)
    assert re.search(r"^EXPOSE 8000$", text, re.MULTILINE)
    assert re.search(r"^VOLUME ", text, re.MULTILINE)


def test_the_ways_to_run_it_that_are_told_are_settings_that_it_takes() -> None:
    readme = (ROOT / "README.md").read_text().replace("\\\n", "")
    built_in = re.findall(r"\b(RETROGRAPH_\w+)=(\S+)", DOCKERFILE.read_text())
    told = re.findall(r"^\$ docker run (.*) retrograph$", readme, re.MULTILINE)
    exposed = []
    for options in told:
        given = re.findall(r"--env (RETROGRAPH_\w+)=?(\S*)", options)
        chosen = {name: value or SECRET for name, value in given}
        settings = load_settings(environment=dict(built_in) | chosen)
        check_exposure(settings)
        exposed.append(not is_loopback(settings.host))
        assert exposed[-1] == ("--publish 8000:8000" in options)
        assert exposed[-1] != ("--network host" in options)
    assert sorted(exposed) == [False, True]


def test_the_build_sees_no_environment_history_or_database() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "*.sqlite*", "**/__pycache__"} <= set(ignored)
