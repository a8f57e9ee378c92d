"""The log of a feed, and how what it tells reaches a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from graphql import ExecutionResult
from starlette.websockets import WebSocket, WebSocketDisconnect
from strawberry.http.exceptions import WebSocketDisconnected

from retrograph.schema import feed as feed_module
from retrograph.schema.feed import BATCH_BYTES, Feed, Following, Payloads
from retrograph.schema.schema import make_schema
from retrograph.schema.socket_adapter import SocketAdapter
from retrograph.schema.stream_limits import StreamLimits
from tests.schema.serving import PATIENCE


def test_a_log_keeps_so_many_bytes_and_always_the_last_event() -> None:
    async def fill() -> None:
        feed = Feed((0, 0), lambda: 10)
        for at in range(1, 9):
            feed.reading.position = (at, 0)
            feed.tell(b"xxxx")
        assert not feed.covers((5, 0))
        assert feed.covers((6, 0))
        assert feed.batch(5) is None
        assert [each.position for each in feed.batch(6) or ()] == [(7, 0), (8, 0)]
        assert feed.number_behind((7, 0)) == 7
        assert feed.batch(8) == ()
        feed.reading.position = (9, 0)
        feed.tell(b"x" * 99)
        assert [each.position for each in feed.batch(8) or ()] == [(9, 0)]

    asyncio.run(fill())


def test_followers_get_their_turn_in_the_midst_of_many_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When so much has been told as they take at once, or as the log keeps; or when one is late."""

    async def fill(room: int) -> list[bool]:
        feed = Feed((0, 0), lambda: room)
        monkeypatch.setattr(feed_module, "SPAN", PATIENCE)
        turns = [feed.tell(b"xx") for _ in range(8)]
        monkeypatch.setattr(feed_module, "SPAN", -1)
        return [*turns, feed.tell(b"x")]

    monkeypatch.setattr(feed_module, "BATCH_BYTES", 8)
    for room, due in ((10_000, [3, 7, 8]), (6, [2, 5, 8])):
        turns = asyncio.run(fill(room))
        assert [place for place, turn in enumerate(turns) if turn] == due


def test_who_has_come_farther_than_the_feed_is_told_nothing_twice() -> None:
    """It read the database while others were still working the same events out."""

    async def follow() -> list[bytes]:
        feed = Feed((0, 0), lambda: 10_000)
        ear: Any = SimpleNamespace(stopped=lambda: False, clear=lambda: None)
        way = Following(feed, (3, 0), ear, lambda: False, str)
        for at in range(1, 6):
            feed.reading.position = (at, 0)
            feed.tell(b"%d" % at)
        return list(await way.take())

    assert asyncio.run(follow()) == [b"4", b"5"]


def test_a_batch_holds_no_more_than_a_buffer_takes() -> None:
    async def fill() -> list[int]:
        feed, sizes = Feed((0, 0), lambda: 100 * BATCH_BYTES), []
        for at in range(1, 11):
            feed.reading.position = (at, 0)
            feed.tell(b"x" * (BATCH_BYTES // 3))
        number = 0
        while batch := feed.batch(number):
            sizes.append(len(batch))
            number += len(batch)
        return sizes

    assert asyncio.run(fill()) == [4, 4, 2]


def adapter_of(send: Callable[[Any], Any]) -> SocketAdapter:
    async def receive() -> Any:
        return {"type": "websocket.connect"}

    socket = WebSocket({"type": "websocket"}, receive, send)
    view = SimpleNamespace(limits=StreamLimits(), encode_json=json.dumps)
    return SocketAdapter(view, socket, socket)


def test_a_server_that_knows_nothing_of_it_is_given_one_message_after_another() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message.get("text", message["type"]))

    async def speak() -> None:
        adapter = adapter_of(send)
        await adapter.ws.accept()
        await adapter.send_next(b'"1"', Payloads([b"1", b'"\xc3\xb6"']))
        await adapter.dismiss({"id": "1"}, "LAGGED")
        with pytest.raises(WebSocketDisconnected):
            await adapter.send_next(b'"1"', Payloads([b"3"]))

    asyncio.run(speak())
    texts = [f'{{"id":"1","type":"next","payload":{each}}}' for each in ("1", '"ö"')]
    assert sent == ["websocket.accept", *texts, "websocket.close"]


def test_a_peer_that_has_gone_takes_no_last_words() -> None:
    async def send(message: Any) -> None:
        if message["type"] != "websocket.accept":
            raise WebSocketDisconnect

    async def speak() -> None:
        adapter = adapter_of(send)
        await adapter.ws.accept()
        await adapter.dismiss({"id": "1"}, "LAGGED")
        assert adapter.gone.is_set()

    asyncio.run(speak())


def test_what_is_in_the_place_of_an_event_is_passed_on_as_it_is() -> None:
    """Nothing of the operation is executed for it: the feed has done that."""
    way = Following(Feed((0, 0), lambda: 1), (0, 0), SimpleNamespace(), lambda: False, str)  # type: ignore[arg-type]
    executor: Any = make_schema().execution_context_class
    found: Any = executor.execute_operation(SimpleNamespace(root_value=way))
    assert isinstance(found, ExecutionResult)
    passed: Any = found.data
    assert passed is way
