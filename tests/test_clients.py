"""The examples of docs/clients.md run as they stand: Python, TypeScript, curl."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from retrograph.client import jobs
from retrograph.client.operation import Operation
from tests.demo import Demo, serving_demo
from tests.missing import NODE, node_script, program
from tests.shared import ROOT

TEXT = (ROOT / "docs" / "clients.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A freshly made demo: each example knocks out the same rule."""
    with serving_demo(tmp_path_factory.mktemp("clients")) as running:
        yield running


def token(demo: Demo) -> str:
    """The token that the first block makes."""
    return demo.run("bash", "-eu", "-c", f'{blocks("sh")[0]}\necho "$RETROGRAPH_TOKEN"').strip()


def test_python(demo: Demo) -> None:
    proof = token(demo)
    said = [
        demo.run(sys.executable, "-W", "error", "-c", demo.found_at(block), RETROGRAPH_TOKEN=proof)
        for block in blocks("python")
    ]
    first, planned, *events, viewer = said[0].splitlines()
    assert first.startswith("rule:vat CURRENTLY_VALID since 20")
    assert int(planned.split()[0]) == len(events) > 1
    assert events[0].endswith("NODE_STALE rule:vat")
    assert "CONTROLLER" in viewer
    keys, event = said[1].splitlines()
    assert keys.count("'") == 6
    assert event


def test_typescript(demo: Demo) -> None:
    """Node strips the types by itself where it can; else the few forms of the example are cut."""
    node = node_script("")[0]
    (source,) = blocks("ts")
    (demo.folder / "node_modules").symlink_to(NODE / "node_modules")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, version.removeprefix("v").split(".")[:2])
    if (major, minor) >= (22, 6):
        file, flags = demo.folder / "example.mts", ["--experimental-strip-types", "--no-warnings"]
    else:
        file, flags, source = demo.folder / "example.mjs", [], stripped(source)
    file.write_text(demo.found_at(source))
    said = demo.run(node, *flags, file, RETROGRAPH_TOKEN=token(demo)).splitlines()
    assert said[0] == "rule:vat CURRENTLY_VALID"
    assert re.fullmatch(r"run -?\d+", said[1])
    assert re.match(r"\d+-\d+ ", said[2])


def stripped(source: str) -> str:
    for pattern, left in (
        (r"(?ms)^interface .*?^}\n", ""),
        (r"<(?:T|Told|\{[^<>]*\})>(?=\()", ""),
        (r"\): [A-Z][\w<>\[\]\"]* \{", ") {"),
        (r"(?<=[(\s])(\w+): (?:string|object)(?=,|\)| = )", r"\1"),
        (r"(?<=\w)!(?=\.)", ""),
    ):
        source = re.sub(pattern, left, source)
    return source


def test_curl(demo: Demo) -> None:
    program("curl", "curl")
    said = demo.run(
        *("bash", "-eu", "-c", demo.found_at(blocks("sh")[1])), RETROGRAPH_TOKEN=token(demo)
    )
    answers, told = said.split("event:", 1)
    answers = answers.rstrip(": \n").replace("}{", "}\n{")
    node, preview, run = (json.loads(line)["data"] for line in answers.splitlines())
    assert node["node"]["key"] == "rule:vat"
    assert preview["previewInvalidation"]["impactCount"] == run["invalidate"]["impactCount"] > 1
    assert told.count('"cursor"') > 10


def test_it_names_every_job() -> None:
    made = {
        name
        for name, job in vars(jobs).items()
        if not name.startswith("_") and job.__class__.__name__ == "function"
        and str(job.__annotations__.get("return", "")).startswith(Operation.__name__)
    }  # fmt: skip
    (listed,) = re.findall(r"in `retrograph\.client\.jobs`: (.*?)\.\n", TEXT, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed)) == made
