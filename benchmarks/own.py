"""A server of our own to measure on, if there is one to start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeVar

import pytest

Server = TypeVar("Server")


@contextmanager
def own(running: AbstractContextManager[Server]) -> Iterator[Server | None]:
    """What a context of the tests starts; None, and a word about it, where it can't."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running)
        except (pytest.skip.Exception, pytest.fail.Exception) as reason:
            print(f"skipped: {reason}")
            server = None
        yield server
