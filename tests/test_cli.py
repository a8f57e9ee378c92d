"""Each command does what it says, and says in one line, with a code, what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
from contextlib import closing
from pathlib import Path

import click
import pytest

from retrograph import __version__
from retrograph.cli_data import _until_interrupted
from retrograph.resolvers.importing.stream import Progress
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.instant import LATEST, format_instant, parse_instant
from retrograph.schema.schema import sdl
from retrograph.sql.loader import migrations
from retrograph.storage.store import open_store
from tests.command import refused, retrograph
from tests.memory import NEW, Memory
from tests.resolvers.files import Line, edge, invalidate, node, supersede, text

GRAPH: tuple[Line, ...] = (node("a"), node("b"), node("c"), edge("a", "b"), edge("b", "c"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("RETROGRAPH_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def graph(elsewhere: Path) -> Path:
    """The default database with a small graph in it."""
    assert retrograph("import", "-", stdin=text(GRAPH)).exit_code == 0
    return elsewhere / "retrograph.db"


def events(*words: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in retrograph("tail", "--once", *words).stdout.splitlines()]


def test_the_version_is_told() -> None:
    assert retrograph("--version").stdout == f"retrograph, version {__version__}\n"


def test_help_names_every_command() -> None:
    said = retrograph("--help").stdout
    for command in (
        "serve",
        "demo",
        "import",
        "export",
        "invalidate",
        "tail",
        "sweep",
        "compact",
        "migrate",
        "sdl",
        "token",
    ):
        assert re.search(rf"^  {command} +\S", said, re.MULTILINE)
        assert retrograph(command, "--help").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [("nonsense",), ("import",), ("import", "missing.jsonl"), ("import", "."), ("invalidate", "a")],
)
def test_wrong_use_exits_with_2(words: tuple[str, ...]) -> None:
    assert retrograph(*words).exit_code == 2


@pytest.mark.parametrize("packed", [False, True])
def test_import_takes_a_file_or_the_standard_input(elsewhere: Path, packed: bool) -> None:
    data = gzip.compress(text(GRAPH)) if packed else text(GRAPH)
    (elsewhere / "graph").write_bytes(data)
    said = retrograph("import", "graph").stdout
    assert said == "5 lines: 3 nodes, 2 edges, 0 evidence added.\n"
    again = retrograph("import", "-", stdin=data)
    assert again.stdout == "5 lines: 0 nodes, 0 edges, 0 evidence added.\n"


def test_import_tells_of_changes_and_runs(graph: Path) -> None:
    lines = (node("c", payload=1), invalidate("a"), supersede("a", {"key": "d", "kind": "RULE"}))
    said = retrograph("import", "-", stdin=text(lines)).stdout
    assert said == (
        "3 lines: 0 nodes, 0 edges, 0 evidence added; 1 changed; 2 runs, 2 applied, 4 impacts.\n"
    )


def test_a_bad_file_is_named_by_line(graph: Path) -> None:
    said = refused("IMPORT_REJECTED", "import", "-", stdin=text(GRAPH) + b"{}\n")
    assert said.startswith("Line 6: Give an object with one head")


def test_an_interrupted_import_stops_writing() -> None:
    tells: list[Progress] = []

    def go_on() -> None:
        with _until_interrupted(lambda *_: None) as tell:
            tells.append(tell)
            tell("Writing", 0, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go_on()
    with pytest.raises(click.Abort):
        tells[0]("Writing", 1, 2)


def test_flags_and_variables_choose_tenant_fleet_and_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RETROGRAPH_DATABASE", "other.db")
    retrograph("import", "-", "--fleet", "7", "--tenant", "3", stdin=text(GRAPH))
    assert Path("other.db").exists()
    refused("NOT_FOUND", "export", "--fleet", "7")
    refused("NOT_FOUND", "export", "--tenant", "3")
    said = retrograph("export", "--fleet", "7", "--tenant", "3").stdout_bytes
    assert len(said.splitlines()) == 5


def test_export_gives_what_import_takes(graph: Path) -> None:
    data = retrograph("export").stdout_bytes
    retrograph("import", "-", "--database", "copy.db", stdin=data)
    assert retrograph("export", "--database", "copy.db").stdout_bytes == data


def test_export_goes_to_a_file_when_it_is_complete(graph: Path, elsewhere: Path) -> None:
    data = retrograph("export").stdout_bytes
    assert retrograph("export", "-o", "graph.jsonl").stdout == ""
    retrograph("export", "--output", "graph.jsonl.gz")
    assert Path("graph.jsonl").read_bytes() == data
    assert gzip.decompress(Path("graph.jsonl.gz").read_bytes()) == data
    assert {path.name for path in elsewhere.iterdir()} == {
        "retrograph.db",
        "graph.jsonl",
        "graph.jsonl.gz",
    }


def test_export_goes_back_in_time(graph: Path) -> None:
    before = retrograph("export").stdout_bytes
    retrograph("invalidate", "a", "--reason", "wrong")
    at = parse_instant(str(events()[0]["at"]))
    assert retrograph("export", "--as-of", format_instant(at - 1)).stdout_bytes == before
    after = retrograph("export", "--as-of", format_instant(at)).stdout_bytes
    assert after == retrograph("export").stdout_bytes != before
    ancient = retrograph("export", "--as-of", "2000-01-01T00:00:00Z")
    assert (ancient.exit_code, ancient.stdout) == (0, "")


@pytest.mark.parametrize(
    ("at", "code", "said"),
    [
        ("yesterday", "BAD_USER_INPUT", "is no instant"),
        ("2026-01-01T00:00:00+01:00", "BAD_USER_INPUT", "offset"),
        ("2026-01-01T00:00:00.1234567Z", "BAD_USER_INPUT", "six fractional digits"),
        ("9999-01-01T00:00:00Z", "INSTANT_IN_FUTURE", "in the future"),
    ],
)
def test_export_refuses_what_is_no_past_instant(graph: Path, at: str, code: str, said: str) -> None:
    assert said in refused(code, "export", "--as-of", at, "-o", "never")
    assert not Path("never").exists()


def test_invalidate_shows_what_falls_and_by_which_path(graph: Path) -> None:
    said = retrograph("invalidate", "a", "--reason", "it was wrong").stdout
    head, *impacts = said.splitlines()
    assert head == "Run 1, APPLIED: 3 impacts."
    assert [line.split(None, 4) for line in impacts] == [
        ["CHANGED", "CURRENTLY_VALID", "->", "INVALID", path]
        for path in ("a", "a > b", "a > b > c")
    ]
    again = retrograph("invalidate", "a", "--reason", "it was wrong").stdout
    assert again == "Run 2, NO_CHANGE: 0 impacts.\n"


def test_invalidate_shows_no_more_than_asked_for(graph: Path) -> None:
    words = ("--reason", "old", "--effect", "POTENTIALLY_STALE", "--first", "1")
    _, shown, rest = retrograph("invalidate", "a", *words).stdout.splitlines()
    assert "POTENTIALLY_STALE" in shown
    assert rest == "… and 2 more."
    refused("BAD_USER_INPUT", "invalidate", "a", "--reason", "x", "--first", "0")


def test_invalidate_refuses_what_is_not_there(graph: Path) -> None:
    assert "'nobody'" in refused("NOT_FOUND", "invalidate", "nobody", "--reason", "x")
    refused("BAD_USER_INPUT", "invalidate", "a", "--reason", "")
    refused("NOT_FOUND", "invalidate", "a", "--reason", "x", "--fleet", "9")
    assert retrograph("invalidate", "a", "--reason", "x", "--effect", "OLD").exit_code == 2


def test_tail_prints_each_event_once_in_order(graph: Path) -> None:
    assert events() == []
    retrograph("invalidate", "a", "--reason", "wrong")
    told = events()
    assert [event["node"] for event in told] == [
        {"id": str(i + 1), "key": k} for i, k in enumerate("abc")
    ]
    assert told[1]["detail"] == {"from": "CURRENTLY_VALID", "to": "INVALID", "depth": 1}
    assert told[0]["type"] == "NODE_STALE"
    assert (told[0]["fleetId"], told[0]["runId"]) == ("1", "1")
    for position, event in enumerate(told):
        assert events("--after", str(event["cursor"])) == told[position + 1 :]
    assert events("--after", "0-0") == told


def test_tail_names_what_is_gone(graph: Path) -> None:
    with closing(open_store(str(graph))) as store:
        memory = Memory(Scope(store, 1, None, frozenset(Role)))
        before = store.clock(1, 1)
        gone = memory.put(NodeInput("gone", kind=NEW)).nodes[0].id
        memory.fell("gone")
        rewind = Rewind(before, dry_run=False, confirm=confirmation(1, before))
        rewind_fleet(memory.scope, 1, rewind)
    assert events()[0]["node"] == {"id": str(gone), "key": "gone"}


def test_tail_starts_now_unless_it_is_told_otherwise(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits, an event comes and then the interruption."""

    def wait(_: float) -> None:
        if waited:
            raise KeyboardInterrupt
        waited.append(retrograph("invalidate", "b", "--reason", "wrong"))

    waited: list[object] = []
    monkeypatch.setattr("retrograph.cli_watch.time.sleep", wait)
    retrograph("invalidate", "c", "--reason", "wrong")
    said = retrograph("tail")
    assert said.exit_code == 0
    assert [json.loads(line)["node"]["key"] for line in said.stdout.splitlines()] == ["b"]
    assert [event["node"] for event in events()] == [
        {"id": "3", "key": "c"},
        {"id": "2", "key": "b"},
    ]


def test_tail_says_where_it_starts() -> None:
    said = " ".join(retrograph("tail", "--help").stdout.split())
    assert "By default, what comes from now on; with --once, from the beginning." in said


def test_tail_refuses_a_cursor_that_is_none(graph: Path) -> None:
    for cursor in ("x", "-1-0", "0--1", f"{LATEST}-0"):
        refused("INVALID_CURSOR", "tail", "--once", "--after", cursor)
    refused("NOT_FOUND", "tail", "--fleet", "4")


def test_migrate_makes_the_database_says_what_it_did_and_may_be_repeated() -> None:
    *done, end = retrograph("migrate").stdout.splitlines(keepends=True)
    assert done == [
        f"Applied migration {step.number:03} ({step.name}).\n" for step in migrations("sqlite")
    ]
    assert end == retrograph("migrate").stdout == "retrograph.db is up to date.\n"
    assert Path("retrograph.db").exists()


def test_sdl_prints_the_schema() -> None:
    assert retrograph("sdl").stdout == sdl()


@pytest.mark.parametrize("words", [("export",), ("tail",), ("invalidate", "a", "--reason", "x")])
def test_only_what_writes_new_data_makes_a_database(words: tuple[str, ...]) -> None:
    assert "retrograph.db" in refused("DATABASE_UNAVAILABLE", *words)
    assert not Path("retrograph.db").exists()


def test_a_file_that_is_no_database_is_refused() -> None:
    Path("notes.txt").write_text("nothing but words " * 100)
    for words in (("import", "-"), ("export",), ("migrate",), ("serve", "--port", "0")):
        refused("NOT_A_DATABASE", *words, "--database", "notes.txt", stdin=text(GRAPH))


@pytest.mark.parametrize("command", ["serve", "demo"])
@pytest.mark.parametrize(
    "words",
    [
        ("--auth", "none", "--host", "0.0.0.0"),
        ("--auth", "token", "--jwt-secret", "short"),
        ("--auth", "none", "--jwt-secret", "a secret that nobody is asked for"),
        ("--port", "x"),
        ("--port", "70000"),
        ("--auth", "x"),
        ("--tenant", ""),
    ],
)
def test_serving_refuses_settings_that_cannot_be(command: str, words: tuple[str, str]) -> None:
    refused("CONFIGURATION", command, *words)
    assert list(Path().iterdir()) == []


def test_the_demo_is_made_once_and_in_a_file() -> None:
    assert retrograph("demo", "--no-serve").stdout.startswith("Made retrograph-demo.db: fleet 1")
    before = Path("retrograph-demo.db").read_bytes()
    assert retrograph("demo", "--no-serve").stdout == ""
    assert Path("retrograph-demo.db").read_bytes() == before
    refused("CONFIGURATION", "demo", "--database", "mariadb://host/name")
    refused("DATABASE_UNAVAILABLE", "demo", "--no-serve", "--database", "no/folder/demo.db")


def test_sweep_says_what_time_has_brought(tmp_path: Path) -> None:
    database = tmp_path / "memory.db"
    with closing(open_store(str(database))) as store:
        store.write_all(1, [1], lambda _: None)
        Memory(Scope(store, 1, None, frozenset(Role))).put(
            NodeInput("a", kind=NEW, expires_at=store.now())
        )
    for expired in (1, 0):
        result = retrograph("sweep", "--database", database)
        assert result.stdout == f"Expired {expired}, executed 0, failed 0, removed 0.\n"
