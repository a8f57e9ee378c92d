"""What the README tells people to type works, and its tables are true."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator

import pytest

from retrograph.settings import Settings, flag_of
from tests.command import retrograph
from tests.demo import Demo, serving_demo
from tests.missing import program
from tests.shared import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
TOKEN = BLOCKS[0].splitlines()[0]
"""What makes the token that the other blocks take for made."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A freshly made demo, in a folder of its own."""
    program("curl", "curl")
    with serving_demo(tmp_path_factory.mktemp("readme")) as running:
        yield running


def run(demo: Demo, block: str) -> str:
    return demo.run("bash", "-eu", "-c", f"{TOKEN}\n{demo.found_at(block)}")


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_what_it_says_to_type_works(demo: Demo, number: int) -> None:
    said = run(demo, BLOCKS[number])
    assert said or ">" in BLOCKS[number]


def test_a_checkout_stays_clean() -> None:
    """What its commands write there is ignored."""
    made = set(re.findall(r"(?:> |-o |--database )([\w-]+\.[\w.]+)", "".join(BLOCKS)))
    assert {"schema.graphql", "beliefs.jsonl", "energy.jsonl.gz", "copy.db"} <= made
    git = ["git", "-C", str(ROOT), "check-ignore", "--no-index", *sorted(made)]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    assert made == set(done.stdout.split())


def test_the_ten_lines_tell_the_story_of_the_demo(demo: Demo) -> None:
    assert len(BLOCKS[0].splitlines()) == 10
    now, then, paths, preview, run_, events = run(demo, BLOCKS[0]).splitlines()
    assert '"validity":"INVALID"' in now
    assert "The regulator corrected the tariff" in now
    assert '"payload":"dispute","validity":"CURRENTLY_VALID"' in then
    assert '"key":"expected:4711@corrected"' in paths
    assert '"impactCount"' in preview
    assert '"impactCount"' in run_
    assert events.count('"key"') == 3


def test_it_opens_with_the_two_commands_that_are_targets() -> None:
    first = re.search(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert first is not None
    targets = re.findall(r"^\$ make (\w+)", first[1], re.MULTILINE)
    assert targets == ["run", "test"]
    assert README.index(first[0]) < README.index("```sh")
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_it_says_how_to_install_it_and_with_which_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    section = README[README.index("## Installing it") : README.index("## What is in it")]
    extras = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert set(extras) == set(project["optional-dependencies"])
    asked = re.findall(r"pip install '?\.(?:\[([\w,]+)\])?", section)
    assert asked[0] == ""
    assert set(asked[1].split(",")) <= set(extras)


def test_its_tables_name_every_command_and_setting() -> None:
    commands = re.findall(r"^  (\w+)  ", retrograph("--help").stdout, re.MULTILINE)
    assert sorted(commands) == sorted(
        set(re.findall(r"^\| `retrograph (\w+)", README, re.MULTILINE))
    )
    for name, default in ((name, getattr(Settings(), name)) for name in Settings.__slots__):
        shown = "" if default is None else f"`{default}`"
        assert f"| `{flag_of(name)}` | `RETROGRAPH_{name.upper()}` | {shown}" in README


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
