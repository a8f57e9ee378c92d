"""What several fields wait for: one that is cancelled takes it from no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


async def wait_for_shared(awaitable: Awaitable[T]) -> T:
    """Waits for what others may wait for, too.

    A field that fails cancels its siblings. If nobody is left to wait, a failure is nobody's: it
    must not be logged as one that was overlooked.
    """
    future = asyncio.ensure_future(awaitable)
    future.add_done_callback(_overlook)
    return await asyncio.shield(future)


def _overlook(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
