"""The npm clients graphql-ws and graphql-sse: a server is stopped, killed, started; they go on."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from retrograph.resolvers.scope import Scope
from tests.command import PATIENCE, environment, next_line, process, start
from tests.memory import Memory
from tests.missing import node_script


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A file that this process and the server share."""
    return str(tmp_path / "memory.db")


@contextmanager
def serve(database: str, port: str, end: signal.Signals) -> Iterator[str]:
    """A server's URL; in the end it is sent the signal, and has ended."""
    with process("serve", "--port", port, "--database", database) as server:
        found = re.search(r" at (http://127\.0\.0\.1:\d+/graphql)$", next_line(server).rstrip())
        assert found is not None
        yield found[1]
        server.send_signal(end)
        server.wait(PATIENCE)


def heard(client: Popen[str]) -> object:
    line = next_line(client)
    if not line:
        assert client.stderr is not None
        pytest.fail(client.stderr.read())
    return json.loads(line)


@pytest.mark.parametrize("transport", ["ws", "sse"])
def test_nothing_is_lost_or_doubled_whatever_becomes_of_the_server(
    scope: Scope, database: str, transport: str
) -> None:
    memory, port = Memory(scope), "0"
    memory.plant(*"abcdef")
    command = [*node_script("follow.mjs"), transport]
    client: Popen[str] | None = None
    cursors: list[object] = []
    try:
        for keys, end in (("ab", signal.SIGTERM), ("cd", signal.SIGKILL), ("ef", signal.SIGINT)):
            memory.fell(keys[0])
            with serve(database, port, end) as url:
                if client is None:
                    port = url.split(":")[2].partition("/")[0]
                    client = start([*command, url, "6"], None, environment())
                    assert heard(client) == {"viewer": {"tenantId": "1"}}
                    assert heard(client) == {"putNodes": {"__typename": "NodesPut"}}
                    assert heard(client) == "GRAPHQL_VALIDATION_FAILED"
                cursors.append(heard(client))
                memory.fell(keys[1])
                cursors.append(heard(client))
        assert client is not None
        assert client.wait(PATIENCE) == 0
    finally:
        if client is not None:
            client.kill()
            client.communicate()
    assert cursors == [f"{event.at}-{event.ordinal}" for event in memory.events()]
