"""The command that judges: `worker`."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import click

from retrograph.cli_judges import Ask, command_judge, web_judge
from retrograph.cli_options import open_scope, takes_settings
from retrograph.cli_work import Worker
from retrograph.rules.judgement import MAX_CLAIMS
from retrograph.settings import Settings


@click.command("worker")
@click.option("--exec", "command", metavar="COMMAND", help="A program that judges a task.")
@click.option("--url", metavar="URL", help="A webhook that judges a task, by POST.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, MAX_CLAIMS),
    default=4,
    show_default=True,
    help="How many tasks to judge at once.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=60.0,
    show_default=True,
    help="How long a judgement may take.",
)
@click.option("--name", metavar="TEXT", help="Who claims; by default this machine and process.")
@click.option("--once", is_flag=True, help="Stop when nothing is ready, instead of waiting.")
@takes_settings("database", "tenant", "fleet")
def worker(
    settings: Settings,
    command: str | None,
    url: str | None,
    concurrency: int,
    timeout: float,
    name: str | None,
    once: bool,
) -> None:
    """Judge the fleet's tasks, dependencies first, by a program or a webhook.

    Each task is told as JSON, on the program's standard input or as the body of a POST; the answer
    is JSON, too: {"outcome": "VERIFIED"}, REFUTED or ERROR. No answer, an unreadable one or one
    that comes too late is an ERROR, and is tried again. SIGTERM and Ctrl-C let it end what it has
    begun, and claim no more.
    """
    ask = _judge(command, url, timeout)
    name = name or f"{socket.gethostname()}/{os.getpid()}"
    with open_scope(settings) as scope:
        working = Worker(scope, settings.fleet, name, ask, concurrency, click.echo)
        with _stopped_by_signals(working):
            working.run(once=once)


@contextmanager
def _stopped_by_signals(working: Worker) -> Iterator[None]:
    """Lets SIGINT and SIGTERM tell the worker to stop, for as long as the context lasts."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: working.stopping.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _judge(command: str | None, url: str | None, timeout: float) -> Ask:
    if (command is None) == (url is None):
        raise click.UsageError("Give --exec or --url: exactly one of them.")
    return command_judge(command, timeout) if command is not None else web_judge(url or "", timeout)
