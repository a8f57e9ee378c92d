"""The examples of docs/clients.md run as they stand: Python, TypeScript, curl."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from types import ModuleType

import pytest

from retrograph.app import create_app
from retrograph.client import jobs, work
from retrograph.client.operation import Operation
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import Unauthenticated
from retrograph.schema.identity import Identity
from retrograph.storage.store import Store
from tests.clock import START, ManualClock
from tests.command import PATIENCE, environment, next_line, start
from tests.demo import DOCUMENTED, Demo, serving_demo
from tests.memory import Memory
from tests.missing import NODE, node_script, program
from tests.schema.serving import listening
from tests.shared import ROOT

TEXT = (ROOT / "docs" / "clients.md").read_text()
SECOND = 1_000_000
STRICT = {
    "strict": True,
    "noUnusedLocals": True,
    "target": "es2022",
    "module": "nodenext",
    "lib": ["es2023"],
    "types": ["node"],
    "skipLibCheck": True,
}
FOLLOW = """
let left = 2;
for await (const event of follow("1", "0-0")) {
  console.log(event.cursor);
  if (--left === 0) break;
}
void ask;
"""
"""What follows two events, with what the example has defined."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what clients do."""
    return str(tmp_path / "memory.db")


@pytest.fixture
def memory(scope: Scope) -> Memory:
    """Fleet 1, as it is written to without a server."""
    return Memory(scope)


@pytest.fixture
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A freshly made demo: each example knocks out the same rule."""
    with serving_demo(tmp_path_factory.mktemp("clients"), "--no-judge") as running:
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
    judged = [line.split() for line in said[2].splitlines()]
    assert {line[1] for line in judged} == {"REVALIDATED", "INVALID"}


def compiled(folder: Path, source: str) -> list[str | Path]:
    """The command that runs a program in TypeScript, once the compiler has checked its types."""
    node, *_ = node_script("")
    (folder / "node_modules").symlink_to(NODE / "node_modules")
    (folder / "example.mts").write_text(source)
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT}))
    compiler = NODE / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([node, compiler], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return [node, folder / "example.mjs"]


def test_typescript(demo: Demo) -> None:
    (source,) = blocks("ts")
    command = compiled(demo.folder, demo.found_at(source))
    said = demo.run(*command, RETROGRAPH_TOKEN=token(demo)).splitlines()
    assert said[0] == "rule:vat CURRENTLY_VALID"
    assert re.fullmatch(r"run -?\d+", said[1])
    assert re.match(r"\d+-\d+ ", said[2])


@contextmanager
def following(store: Store, clock: ManualClock, folder: Path) -> Iterator[Popen[str]]:
    """The example's stream as a program; its tokens come from a file, and `first` soon expires."""

    async def identify(token: str | None) -> Identity:
        until = START + SECOND if token == "first" else None
        if until is not None and until <= clock.now:
            raise Unauthenticated("Expired.")
        return Identity(1, None, frozenset(Role), until)

    (source,) = blocks("ts")
    given, read = 'process.env.RETROGRAPH_TOKEN ?? ""', 'readFileSync("token", "utf8")'
    assert given in source
    parts = ['import { readFileSync } from "node:fs";', source.replace(given, read)]
    parts[1] = parts[1][: parts[1].index("\nconst { node }")] + FOLLOW
    (folder / "token").write_text("first")
    with listening(create_app(store, identify=identify)) as server:
        text = "\n".join(parts).replace(DOCUMENTED, f"127.0.0.1:{server.address[1]}")
        command = [str(each) for each in compiled(folder, text)]
        client = start(command, folder, environment())
        try:
            yield client
        finally:
            client.kill()
            client.communicate()


def test_the_typescript_stream_goes_on_with_a_new_token(
    store: Store, clock: ManualClock, memory: Memory, tmp_path: Path
) -> None:
    memory.plant("a", "b")
    memory.fell("a")
    with following(store, clock, tmp_path) as client:
        cursors = [next_line(client)]
        (tmp_path / "token").write_text("second")
        clock.advance(SECOND)
        memory.fell("b")
        cursors.append(next_line(client))
        assert client.wait(PATIENCE) == 0
        assert client.stderr is not None
        assert "going on with a new token" in client.stderr.read()
    told = [f"{event.at}-{event.ordinal}" for event in memory.events()]
    assert [each.strip() for each in cursors] == told


def test_the_typescript_stream_ends_where_there_is_no_new_token(
    store: Store, clock: ManualClock, memory: Memory, tmp_path: Path
) -> None:
    memory.plant("a")
    memory.fell("a")
    with following(store, clock, tmp_path) as client:
        assert next_line(client)
        clock.advance(SECOND)
        assert client.wait(PATIENCE) == 1
        assert client.stderr is not None
        assert "The token counts no more" in client.stderr.read()


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
    for module, place in ((jobs, "jobs"), (work, "work")):
        (listed,) = re.findall(rf"in `retrograph\.client\.{place}`: (.*?)\.\n", TEXT, re.DOTALL)
        assert set(re.findall(r"`(\w+)`", listed)) == operations(module)


def operations(module: ModuleType) -> set[str]:
    return {
        name
        for name, job in vars(module).items()
        if not name.startswith("_") and job.__class__.__name__ == "function"
        and str(job.__annotations__.get("return", "")).startswith(Operation.__name__)
    }  # fmt: skip
