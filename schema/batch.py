"""Items of a subscription that are told one after another, but executed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import orjson

from retrograph.schema.feed import Position
from retrograph.schema.wire import write_json

if TYPE_CHECKING:
    from retrograph.schema.context import Context


class Dated(Protocol):
    """What is told as of an instant."""

    at: Any


Item = TypeVar("Item", bound=Dated)


class Batch(Generic[Item]):
    """Takes the place of an item: the executor sets `rows`, the data of each item's response.

    It leaves None where anything of them has to be met item by item.
    """

    def __init__(
        self, context: Context, fleet_id: int, items: Sequence[tuple[Position, Item]]
    ) -> None:
        self.items = items
        self.rows: Sequence[dict[str, Any]] | None = None
        self._context = context
        self._fleet_id = fleet_id

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
