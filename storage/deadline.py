"""Until when the work of a request is of use: readers give up what takes longer.

Whoever waits for an answer has gone by then; without this its statements would go on, and keep
threads and connections from others. Writes have no deadline: they end, and are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from retrograph.rules.errors import OperationTimedOut

_deadline: ContextVar[float | None] = ContextVar("retrograph_deadline", default=None)


@contextmanager
def working_for(seconds: float) -> Iterator[None]:
    """Gives what runs in this context so many seconds."""
    token = _deadline.set(monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float | None:
    """How many seconds the work may still take, less than none if it is late; None: any number."""
    deadline = _deadline.get()
    return None if deadline is None else deadline - monotonic()


def is_late() -> bool:
    """Whether nobody waits for the work any more."""
    left = seconds_left()
    return left is not None and left < 0


def timed_out() -> OperationTimedOut:
    """The error of work that takes too long."""
    return OperationTimedOut(
        "The operation took longer than the server allows; ask for smaller pages or fewer fields."
    )
