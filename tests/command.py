"""Runs the command line, inside this process or as one of its own."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from click.testing import CliRunner, Result

from retrograph.cli_commands import commands
from tests.shared import ROOT

COMMAND = [sys.executable, "-W", "error", "-m", "retrograph.cli"]
OURS = logging.getLogger("retrograph")
PATIENCE = 300
"""Seconds after which a process that says nothing is taken for dead."""


def retrograph(*words: str | Path, stdin: bytes | None = None) -> Result:
    """Runs a command in this process; fails the test for an error that isn't handled."""
    level = OURS.level
    try:
        result = CliRunner().invoke(commands, [str(word) for word in words], input=stdin)
    finally:
        OURS.setLevel(level)  # what serves configures the log
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(code: str, *words: str | Path, stdin: bytes | None = None) -> str:
    """The message of a command that must fail with this code, on one line."""
    result = retrograph(*words, stdin=stdin)
    assert result.exit_code == 1
    assert result.stdout == ""
    match = re.fullmatch(rf"error: \[{code}\] (.+)\n", result.stderr)
    assert match is not None, result.stderr
    return match[1]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that finds this checkout, and none of our own settings."""
    clean = {name: v for name, v in os.environ.items() if not name.startswith("RETROGRAPH_")}
    return clean | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | more


@contextmanager
def process(*words: str | Path, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A command as a process with pipes; killed at the end, if it still runs."""
    with start([*COMMAND, *map(str, words)], cwd, environment()) as running:
        try:
            yield running
        finally:
            running.kill()


def start(
    command: list[str],
    cwd: Path | None,
    env: dict[str, str],
    stderr: int | IO[str] = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """A process with pipes that SIGINT ends, though it may be ignored here.

    A shell ignores it for what runs in the background, and a process inherits that.
    """
    pipe = subprocess.PIPE
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, cwd=cwd, env=env, stdout=pipe, stderr=stderr, text=True)
    finally:
        signal.signal(signal.SIGINT, before)


def next_line(running: subprocess.Popen[str]) -> str:
    """The next line that a process prints, waited for."""
    assert running.stdout is not None
    reader = ThreadPoolExecutor(1)
    try:
        return reader.submit(running.stdout.readline).result(PATIENCE)
    finally:
        reader.shutdown(wait=False)
