"""docs/subscriptions.md: its code is the code that is tested, its numbers are those in force."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from retrograph.app import create_app
from retrograph.schema.feed import LOG_EVENTS
from retrograph.schema.feeds import ALL_LOGS_BYTES, ONE_LOG_BYTES
from retrograph.schema.limits import MAX_MESSAGE_BYTES
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS
from retrograph.server import GRACE_SECONDS
from retrograph.settings import Settings
from retrograph.storage.store import Store
from tests.command import environment, next_line, start
from tests.memory import Memory
from tests.missing import NODE, program
from tests.schema.serving import listening
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "subscriptions.md").read_text()
TEXT = " ".join(PAGE.split())


@pytest.fixture
def database(tmp_path: Path) -> str:
    """No engine has a say in what the page says."""
    return str(tmp_path / "memory.db")


def test_its_client_is_the_one_that_is_tested() -> None:
    (client,) = re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL)
    assert client in (NODE / "follow.mjs").read_text()


def test_its_codes_are_those_that_sockets_are_closed_with() -> None:
    told = set(re.findall(r"^\| (\d{4}) \|", PAGE, re.MULTILINE))
    names = ("socket_life", "socket_messages", "open_streams", "feeds")
    tests = [ROOT / "tests" / "schema" / f"test_{name}.py" for name in names]
    seen = set(re.findall(r"\b(?:100\d|101[13]|44\d\d)\b", "".join(t.read_text() for t in tests)))
    assert told == seen


def test_its_numbers_are_those_in_force() -> None:
    limits, settings = DEFAULT_STREAM_LIMITS, Settings()
    assert MAX_MESSAGE_BYTES == 1 << 20
    assert (limits.keep_alive, limits.operations, limits.streams) == (
        settings.keep_alive,
        settings.socket_operations,
        settings.caller_streams,
    )
    for said in (
        f"within {limits.handshake} seconds",
        f"every `--keep-alive` seconds ({limits.keep_alive})",
        f"`--socket-operations` ({limits.operations})",
        f"`--caller-streams` ({limits.streams:,})",
        f"reads nothing for {limits.reader} seconds",
        f"hasn't caught up after {limits.lag} seconds",
        f"at most {LOG_EVENTS:,} events or {ONE_LOG_BYTES >> 20} MiB for one question",
        f"{ALL_LOGS_BYTES >> 20} MiB for all",
        f"gives running operations {limits.goodbye} seconds to end",
        f"what is left of HTTP within {GRACE_SECONDS}.",
    ):
        assert said in TEXT


def test_its_command_hears_events(store: Store, memory: Memory) -> None:
    memory.plant("a")
    run = memory.fell("a")
    (command,) = re.findall(r"\$ (curl .*?)\n```", PAGE, re.DOTALL)
    shell = [program("bash", "bash"), "-c"]
    program("curl", "curl")
    with listening(create_app(store)) as server:
        here = command.replace("127.0.0.1:8000", f"127.0.0.1:{server.address[1]}")
        client: subprocess.Popen[str] = start([*shell, f"exec {here}"], None, environment())
        try:
            while not (line := next_line(client)).startswith("data: "):
                assert line
            assert f'"cursor":"{run.as_of}-0"' in line
        finally:
            client.kill()
            client.communicate()
