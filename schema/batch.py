"""Items of a subscription that are told one after another, but executed together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import orjson

from retrograph.schema.feed import BATCH_BYTES, Payloads, Position, Way
from retrograph.schema.wire import write_json

if TYPE_CHECKING:
    from retrograph.schema.context import Context


class Told(Protocol):
    """What is told as of an instant, and where to go on behind it."""

    at: Any
    cursor: str


Item = TypeVar("Item", bound=Told)


class Batch(Way, Generic[Item]):
    """The executor sets `rows`, the data of each item's response.

    It leaves None where anything of them has to be met item by item: then nothing is to be taken.
    A subscriber takes no more when `is_over` says so, nor a second time when `is_late` does.
    `start` is the cursor that the items are behind.
    """

    def __init__(
        self, context: Context, fleet_id: int, items: Sequence[tuple[Position, Item]], start: str
    ) -> None:
        self.items = items
        self.rows: Sequence[dict[str, Any]] | None = None
        self.is_over: Callable[[], bool] = lambda: False
        self.is_late: Callable[[], bool] = lambda: False
        self._start = start
        self._context = context
        self._fleet_id = fleet_id
        self._rest: Iterator[tuple[Position, bytes]] | None = None
        self._taken = self._sent = 0

    @property
    def cursor(self) -> str:
        """To go on behind what was sent."""
        return self.items[self._sent - 1][1].cursor if self._sent else self._start

    async def take(self) -> Payloads:
        """The next responses; none: they were all taken, or it has to end."""
        self._sent = self._taken
        if self.is_over() or (self._taken and self.is_late()):
            return Payloads()
        if self._rest is None:
            self._rest = self.answers()
        payloads, size = list[bytes](), 0
        for _, payload in self._rest:
            payloads.append(payload)
            size += len(payload)
            if size >= BATCH_BYTES:
                break
        self._taken += len(payloads)
        return Payloads(payloads)

    def answers(self) -> Iterator[tuple[Position, bytes]]:
        """The place of each item, and the response to it as the text of a JSON object."""
        at, extensions = None, orjson.Fragment(b"")
        if self.rows is None:
            return
        for (position, item), row in zip(self.items, self.rows, strict=True):
            if item.at != at:
                at = item.at
                self._context.instants.settle(self._fleet_id, at)
                extensions = orjson.Fragment(write_json(self._context.extensions()))
            yield position, write_json({"data": row, "extensions": extensions})
