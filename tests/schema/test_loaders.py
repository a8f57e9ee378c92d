"""Loaders: what fields wait for together comes, whatever becomes of one of them."""

from __future__ import annotations

import asyncio
from typing import Any

from retrograph.schema.loaders import GroupLoader


async def call(use_case: Any, *args: Any) -> Any:
    """Runs a use case a while later."""
    await asyncio.sleep(0)
    return use_case(*args)


def doubled(group: str, items: list[int]) -> dict[int, int]:
    return {item: 2 * item for item in items}


def test_a_field_that_is_cancelled_takes_nothing_from_another() -> None:
    async def ask() -> int | None:
        loader: GroupLoader[int, int] = GroupLoader(call, doubled)
        gone, waiting = (asyncio.create_task(loader.find(21, "group")) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        return await waiting

    assert asyncio.run(ask()) == 42
