"""The demo's judge while it is served: so slow that a reader can watch a cascade heal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import click
import orjson

from retrograph.cli_options import open_scope
from retrograph.cli_work import Worker
from retrograph.resolvers.demo import FLEET
from retrograph.resolvers.demo_judge import judge_by_rules
from retrograph.rules.errors import RetrographError
from retrograph.settings import Settings

PACE = 0.5
"""Seconds that each judgement takes."""
NAME = "the demo"


@contextmanager
def judging(settings: Settings) -> Iterator[None]:
    """Judges the demo's tasks by simple rules, one after another, as long as the context lasts.

    Each judgement is told on a line of its own. It works as any other process would: over
    connections of its own, so that it hears of the server's commits.
    """
    stopping = Event()
    thread = Thread(target=_judge, args=(settings, stopping), name=NAME)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _judge(settings: Settings, stopping: Event) -> None:
    def ask(told: bytes) -> bytes:
        stopping.wait(PACE)
        return orjson.dumps(judge_by_rules(orjson.loads(told)))

    try:
        with open_scope(settings) as scope:
            Worker(scope, FLEET, NAME, ask, 1, click.echo, stopping).run(once=False)
    except RetrographError as error:
        click.echo(f"The judge has stopped: [{error.code}] {error.message}", err=True)
