"""A Redis of our own to measure on, if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.redis_server import RedisServer, running_redis


@contextmanager
def own_redis() -> Iterator[RedisServer | None]:
    """The server; None, and a word about it, where there is none to start."""
    try:
        server = running_redis()
        running = server.__enter__()
    except (pytest.skip.Exception, pytest.fail.Exception) as reason:
        print(f"skipped: {reason}")
        yield None
        return
    try:
        yield running
    finally:
        server.__exit__(None, None, None)
