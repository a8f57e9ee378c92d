"""Commands that go on until they are ended: they start, they answer, and they end well."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.command import COMMAND, PATIENCE, environment, next_line, process, retrograph, start
from tests.resolvers.files import edge, node, text
from tests.schema.tokens import bearer
from tests.shared import ROOT

BLANKS = b"\n" * 1_000_000
UNWRITTEN = "The output can't be written: {}. It is not complete; send it elsewhere."
GRAPH = text((node("a"), node("b"), edge("a", "b")))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a small graph in it."""
    path = tmp_path / "memory.db"
    retrograph("import", "-", "--database", path, stdin=GRAPH)
    return path


def cursor(line: str) -> str:
    return str(json.loads(line)["cursor"])


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_until_it_is_told_to_end(database: Path, end: signal.Signals) -> None:
    words = ("--port", "0", "--database", database, "--log-level", "warning")
    with process("serve", *words) as server:
        found = re.search(r" at (http://127\.0\.0\.1:\d+/graphql)$", next_line(server).rstrip())
        assert found is not None
        query = {"query": '{ node(fleetId: 1, by: {key: "a"}) { validity } }'}
        answer = httpx.post(found[1], json=query, timeout=PATIENCE).json()
        assert answer["data"] == {"node": {"validity": "CURRENTLY_VALID"}}
        server.send_signal(end)
        assert server.wait(PATIENCE) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""
    assert [path.name for path in database.parent.iterdir()] == ["memory.db"]


def test_a_port_in_use_is_said_in_one_line(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = retrograph("serve", "--port", port, "--database", database)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: [CONFIGURATION] Serving at 127.0.0.1, port {port} is in use; "
        "choose another with --port or --host.\n"
    )


def test_the_demo_says_how_to_ask_it(tmp_path: Path) -> None:
    with process("demo", "--port", "0", cwd=tmp_path) as server:
        said = said_until(server, "Simple rules judge")
        assert said[0] == "Made retrograph-demo.db: fleet 1 and its last seven days.\n"
        (token,) = [
            line.removeprefix("token=").strip() for line in said if line.startswith("token=")
        ]
        secret = tmp_path / "retrograph-demo.db.secret"
        assert secret.stat().st_mode & 0o777 == 0o600
        assert secret.read_text().strip() not in "".join(said)
        commands = [line for line in said if line.startswith("curl")]
        asked = [
            re.fullmatch(r"curl -sG (\S+) (-H \".*\") --data-urlencode 'query=(.*)'\n", c)
            for c in commands
        ]
        assert len(asked) == 4
        for each in asked:
            assert each is not None
            assert each[2] == '-H "authorization: Bearer $token"'
            answer = httpx.get(
                each[1], params={"query": each[3]}, headers=bearer(token), timeout=PATIENCE
            ).json()
            assert answer["data"]
            assert "errors" not in answer
            token = retrograph("token", "--jwt-secret-file", secret).stdout.strip()
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0


def said_until(server: subprocess.Popen[str], last: str) -> list[str]:
    said = [next_line(server)]
    while not said[-1].startswith(last):
        said.append(next_line(server))
    return said


def test_the_demo_heals_before_the_eyes_of_its_reader(tmp_path: Path) -> None:
    database = tmp_path / "retrograph-demo.db"
    retrograph("demo", "--no-serve", "--database", database)
    with process("demo", "--port", "0", cwd=tmp_path) as server:
        said_until(server, "Simple rules judge")
        told = said_until(server, "VERIFIED report:month@corrected")
        assert told[0] == "REFUTED usage:4713: DERIVED_FROM reading:M-93:end, which is INVALID\n"
        retrograph("invalidate", "inspection:M-93", "--reason", "wrong", "--database", database)
        said_until(server, "REFUTED belief:M-93-works: nothing supports it any more")
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
        assert server.stderr is not None
        assert "Traceback" not in server.stderr.read()
    words = ("worker", "--once", "--exec", "false", "--database", database)
    assert retrograph(*words).stdout == "", "nothing is left to judge"


def test_the_demo_leaves_judging_to_others_on_demand(tmp_path: Path) -> None:
    with process("demo", "--port", "0", "--no-judge", cwd=tmp_path) as server:
        said = said_until(server, "Or open it in a browser")
        (command,) = [line for line in said if " worker --once --exec " in line]
        assert "demo-judge" in command
        words = ("worker", "--once", "--exec", "false", "--database", "retrograph-demo.db")
        with process(*words, cwd=tmp_path) as worker:
            assert next_line(worker).startswith("ERROR "), "nobody has judged it"


def test_tail_prints_what_comes_from_now_on_and_goes_on_where_it_was(database: Path) -> None:
    def fell(key: str) -> None:
        words = ("invalidate", key, "--reason", "wrong", "--database", database)
        assert retrograph(*words).exit_code == 0

    fell("b")
    with process("tail", "--database", database, "--after", "0-0") as tail:
        first = next_line(tail)
        assert json.loads(first)["node"]["key"] == "b"
        fell("a")
        second = next_line(tail)
        assert json.loads(second)["node"]["key"] == "a"
        tail.send_signal(signal.SIGINT)
        assert tail.wait(PATIENCE) == 0
        assert tail.stderr is not None
        assert tail.stderr.read() == ""
    words = ("tail", "--once", "--database", database, "--after", cursor(first))
    assert retrograph(*words).stdout == second


def test_a_reader_who_leaves_is_said(database: Path) -> None:
    big = text([node(f"n{i}", payload="x" * 100) for i in range(5_000)])
    retrograph("import", "-", "--database", database, stdin=big)
    with process("export", "--database", database) as export:
        assert next_line(export).startswith('{"node":{"key":"a"')
        assert export.stdout is not None
        assert export.stderr is not None
        export.stdout.close()
        assert export.wait(PATIENCE) == 1
        assert export.stderr.read() == f"error: [OUTPUT_FAILED] {UNWRITTEN.format('Broken pipe')}\n"


@pytest.fixture(params=["a full disk", "a pipe without a reader"])
def bad_output(request: pytest.FixtureRequest) -> Iterator[tuple[int, str]]:
    """A file descriptor that nothing can be written to, and what the system says of it."""
    if request.param == "a full disk":
        if not Path("/dev/full").exists():
            pytest.skip("there is no device that is always full")
        descriptor, said = os.open("/dev/full", os.O_WRONLY), "No space left on device"
    else:
        reader, descriptor = os.pipe()
        os.close(reader)
        said = "Broken pipe"
    yield descriptor, said
    os.close(descriptor)


WRITING = [
    ("export",),
    ("tail", "--once"),
    ("sdl",),
    ("invalidate", "a", "--reason", "x"),
    ("migrate",),
    ("--version",),
    ("export", "--help"),
]


@pytest.mark.parametrize("words", WRITING)
def test_output_that_fails_is_one_line(
    database: Path, bad_output: tuple[int, str], words: tuple[str, ...]
) -> None:
    retrograph("invalidate", "b", "--reason", "wrong", "--database", database)
    descriptor, said = bad_output
    done = subprocess.run(
        [*COMMAND, *words],
        env=environment(RETROGRAPH_DATABASE=str(database)),
        stdout=descriptor,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.stderr == f"error: [OUTPUT_FAILED] {UNWRITTEN.format(said)}\n"
    assert done.returncode == 1


@pytest.mark.parametrize("words", WRITING[:3])
def test_an_output_that_is_closed_is_said(database: Path, words: tuple[str, ...]) -> None:
    retrograph("invalidate", "b", "--reason", "wrong", "--database", database)
    done = (
        closed(">&-", *words, "--database", database) if words != ("sdl",) else closed(">&-", "sdl")
    )
    assert (done.returncode, done.stderr) == (
        1,
        "error: [OUTPUT_FAILED] The standard output is closed; open it, or name a file.\n",
    )


def test_an_input_that_is_closed_is_said(database: Path) -> None:
    done = closed("<&-", "import", "-", "--database", database)
    assert (done.returncode, done.stderr) == (
        1,
        "error: [CONFIGURATION] The standard input is closed; open it, or name a file.\n",
    )


def closed(which: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command that starts with a standard stream closed."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {which}', "sh", *COMMAND, *map(str, words)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_interruption_while_modules_are_loaded_is_no_error(tmp_path: Path) -> None:
    """A module that is loaded in place of another says so, and waits."""
    waiting = 'import signal\nprint("loading", flush=True)\nsignal.pause()\n'
    (tmp_path / "click.py").write_text(waiting)
    env = environment(PYTHONPATH=f"{tmp_path}:{ROOT}")
    with start([*COMMAND, "--version"], None, env) as loading:
        assert next_line(loading) == "loading\n"
        loading.send_signal(signal.SIGINT)
        said = loading.communicate(timeout=PATIENCE)
    assert (loading.returncode, said) == (130, ("", ""))


def test_an_interruption_while_a_command_runs_is_said(database: Path, tmp_path: Path) -> None:
    """It reads from a pipe that never ends."""
    os.mkfifo(tmp_path / "pipe")
    with (
        process("import", tmp_path / "pipe", "--database", database) as importing,
        (tmp_path / "pipe").open("wb", buffering=0) as pipe,
    ):
        pipe.write(BLANKS)  # more than a pipe holds: it is reading now
        importing.send_signal(signal.SIGINT)
        with suppress(BrokenPipeError):
            for _ in range(100):
                pipe.write(BLANKS)
        said = importing.communicate(timeout=PATIENCE)
    assert (importing.returncode, said) == (130, ("", "Interrupted.\n"))


def test_processes_that_tests_start_are_interrupted_though_that_is_ignored_here(
    database: Path,
) -> None:
    retrograph("invalidate", "b", "--reason", "wrong", "--database", database)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with process("tail", "--after", "0-0", "--database", database) as tail:
            next_line(tail)
            tail.send_signal(signal.SIGINT)
            assert tail.wait(PATIENCE) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_broken_file_shows_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "import", "-"],
        cwd=tmp_path,
        env=environment(),
        input=b"\x1f\x8b\x08garbage",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: [IMPORT_REJECTED] Line 1: The gzip data is")
    assert done.stderr.count(b"\n") == 1


def test_a_command_loads_what_it_needs() -> None:
    """The demo's judge is started for each task."""
    loaded = (
        "import sys; from retrograph.cli_commands import commands; "
        "commands.get_command(None, 'demo-judge'); "
        "print({'numpy', 'sqlalchemy', 'strawberry'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
