"""The instants of one operation: fields that name none agree on one for each fleet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from retrograph.rules.errors import InvalidCursor
from retrograph.rules.instant import format_instant
from retrograph.schema.shared import wait_for_shared


class Instants:
    """One instant a fleet, settled at its first use and kept until the operation ends.

    It is the instant of a cursor, if one of the fields that are resolved together goes on behind
    one, or else the fleet's clock, which `read_clock` reads: the latest that a cursor can have.
    """

    def __init__(self, read_clock: Callable[[int], Awaitable[int]]) -> None:
        self._read_clock = read_clock
        self._wishes: dict[int, list[int]] = {}
        self._clocks: dict[int, int] = {}
        self._settling: dict[int, asyncio.Task[int]] = {}
        self._settled: dict[int, int] = {}

    async def at(self, fleet_id: int, cursor_at: int | None = None) -> int:
        """The operation's instant for a fleet.

        Raises `NotFound` for an unknown fleet, and `InvalidCursor` for a cursor of the future.
        """
        if cursor_at is not None:
            self._wishes.setdefault(fleet_id, []).append(cursor_at)
        if fleet_id not in self._settling:
            self._settling[fleet_id] = asyncio.ensure_future(self._settle(fleet_id))
        instant = await wait_for_shared(self._settling[fleet_id])
        if cursor_at is not None and cursor_at > self._clocks[fleet_id]:
            raise InvalidCursor(
                "The cursor lies in the future: no list of this fleet gave it. Begin anew without "
                "a cursor.",
                path=("after",),
            )
        return instant

    def settle(self, fleet_id: int, instant: int) -> None:
        """Tells at which instant a fleet was read: that of a mutation, or of an event."""
        self._settled[fleet_id] = instant

    def shown(self) -> dict[str, str]:
        """Fleet ids and RFC 3339 instants, as the response's extensions give them."""
        return {str(fleet): format_instant(at) for fleet, at in sorted(self._settled.items())}

    async def _settle(self, fleet_id: int) -> int:
        # A task starts when the fields that are resolved together have all made their wishes.
        clock = self._clocks[fleet_id] = await self._read_clock(fleet_id)
        wishes = self._wishes.get(fleet_id, ())
        instant = next((wish for wish in wishes if wish <= clock), clock)
        self._settled[fleet_id] = instant
        return instant
