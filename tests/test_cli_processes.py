"""Commands that go on until they are ended: they start, they answer, and they end well."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.command import COMMAND, PATIENCE, environment, next_line, process, retrograph
from tests.resolvers.files import edge, node, text

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
    with process("serve", "--port", "0", "--database", database) as server:
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
        said = [next_line(server) for _ in range(13)]
        assert said[0] == "Made retrograph-demo.db: fleet 1 and its last seven days.\n"
        commands = [line for line in said if line.startswith("curl")]
        asked = [
            re.fullmatch(r"curl -sG (\S+) --data-urlencode 'query=(.*)'\n", c) for c in commands
        ]
        assert len(asked) == 3
        for each in asked:
            assert each is not None
            answer = httpx.get(each[1], params={"query": each[2]}, timeout=PATIENCE).json()
            assert answer["data"]
            assert "errors" not in answer
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0


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


def test_a_reader_who_has_enough_is_no_error(database: Path) -> None:
    big = text([node(f"n{i}", payload="x" * 100) for i in range(5_000)])
    retrograph("import", "-", "--database", database, stdin=big)
    with process("export", "--database", database) as export:
        assert next_line(export).startswith('{"node":{"key":"a"')
        assert export.stdout is not None
        assert export.stderr is not None
        export.stdout.close()
        assert export.wait(PATIENCE) == 0
        assert export.stderr.read() == ""


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
