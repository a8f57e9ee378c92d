"""The demo's judge while it is served: so slow that a reader can watch a cascade heal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import click
import orjson

from retrograph.cli_work import Worker
from retrograph.resolvers.demo import FLEET
from retrograph.resolvers.demo_judge import judge_by_rules
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import RetrographError

PACE = 0.5
"""Seconds that each judgement takes."""
NAME = "the demo"


@contextmanager
def judging(scope: Scope) -> Iterator[None]:
    """Judges the demo's tasks by simple rules, one after another, as long as the context lasts.

    Each judgement is told on a line of its own.  It shares the server's store, which asks for the
    commits of other processes: what falls is seen some seconds later.
    """
    stopping = Event()
    thread = Thread(target=_judge, args=(scope, stopping), name=NAME)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _judge(scope: Scope, stopping: Event) -> None:
    def ask(told: bytes) -> bytes:
        stopping.wait(PACE)
        return orjson.dumps(judge_by_rules(orjson.loads(told)))

    try:
        Worker(scope, FLEET, NAME, ask, 1, click.echo, stopping, hears=False).run(once=False)
    except RetrographError as error:
        click.echo(f"The judge has stopped: [{error.code}] {error.message}", err=True)
