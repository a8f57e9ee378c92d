"""The command line on a MariaDB server; a password is told to nobody."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator

import httpx
import pytest

from tests.command import PATIENCE, next_line, process, retrograph
from tests.resolvers.files import edge, node, text
from tests.schema.tokens import bearer
from tests.servers import MariaDBServer

GRAPH = text((node("a"), node("ä "), edge("a", "ä ")))
PASSWORD = "g3heim"


@pytest.fixture
def database(mariadb_server: MariaDBServer) -> Iterator[str]:
    """The address of an empty database, with a user and a password."""
    name = mariadb_server.fresh_database()
    admin = mariadb_server.connect("mysql")
    admin.execute(f"CREATE USER clerk@'%' IDENTIFIED BY '{PASSWORD}'")
    admin.execute(f"GRANT ALL PRIVILEGES ON {name}.* TO clerk@'%'")
    yield f"mariadb+pyodbc://clerk:{PASSWORD}@127.0.0.1:{mariadb_server.port}/{name}"
    admin.execute("DROP USER clerk@'%'")
    admin.close()


def told(database: str) -> str:
    return database.replace(PASSWORD, "***")


def say(*words: str, stdin: bytes | None = None) -> str:
    """What a command says that must go well; it must not say the password."""
    result = retrograph(*words, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    assert PASSWORD not in result.stdout
    return result.stdout


def test_a_graph_goes_in_falls_is_followed_and_comes_out(database: str) -> None:
    at = ("--database", database)
    assert say("migrate", *at).endswith(f").\n{told(database)} is up to date.\n")
    assert say("import", "-", *at, stdin=GRAPH) == (
        "3 lines: 2 nodes, 1 edges, 0 evidence added.\n"
    )
    assert say("export", *at).encode() == retrograph("export", *at).stdout_bytes
    assert say("invalidate", "a", "--reason", "wrong", *at).startswith("Run 1, APPLIED: 2 impacts.")
    events = [json.loads(line) for line in say("tail", "--once", *at).splitlines()]
    assert [event["node"]["key"] for event in events] == ["a", "ä "]


def test_an_export_is_the_import(database: str) -> None:
    at = ("--database", database)
    say("import", "-", *at, stdin=GRAPH)
    lines = [json.loads(line) for line in say("export", *at).splitlines()]
    assert lines == [json.loads(line) for line in GRAPH.splitlines()]


def test_the_demo_is_made_once_and_served(database: str) -> None:
    at = ("--database", database)
    made = say("demo", "--no-serve", *at)
    assert made == f"Made {told(database)}: fleet 1 and its last seven days.\n"
    assert say("demo", "--no-serve", *at) == ""
    with process("demo", "--port", "0", "--log-level", "warning", *at) as server:
        first = next_line(server)
        found = re.search(r"^Serving (\S+) at (http://127\.0\.0\.1:\d+/graphql)", first)
        assert found is not None
        assert found[1] == told(database)
        query = {"query": '{ node(fleetId: 1, by: {key: "decision:9001"}) { validity } }'}
        said = [next_line(server) for _ in range(4)]
        headers = bearer(said[-1].removeprefix("token=").strip())
        answer = httpx.post(found[2], json=query, headers=headers, timeout=PATIENCE).json()
        assert answer["data"] == {"node": {"validity": "INVALID"}}
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""


def test_a_server_that_goes_away_is_told_without_its_password(database: str) -> None:
    wrong = database.replace("clerk", "nobody")
    for command in (("export",), ("import", "-"), ("migrate",), ("serve", "--port", "0")):
        result = retrograph(*command, "--database", wrong, stdin=GRAPH)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: [ACCESS_DENIED] ")
        assert PASSWORD not in result.output
