"""GraphQL over WebSockets: graphql-transport-ws, and nothing else.

The shipped handler keeps the protocol's state. Here every message is checked before it sees it,
and what is wrong with one operation is told to that operation, not to the whole socket.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any

from graphql import GraphQLError, GraphQLFormattedError
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.schema.schema import StreamResult
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import (
    BaseGraphQLTransportWSHandler,
    Operation,
)
from strawberry.subscriptions.protocols.graphql_transport_ws.types import (
    ConnectionInitMessage,
    ErrorMessage,
    Message,
    SubscribeMessage,
    SubscribeMessagePayload,
)
from strawberry.types.execution import ExecutionResult, PreExecutionError

from retrograph.rules.errors import Unauthenticated
from retrograph.rules.stream_errors import Lagged, TooManyStreams
from retrograph.schema.context import EXPIRED, Caller
from retrograph.schema.failures import extensions_of, is_request_error
from retrograph.schema.feed import Way
from retrograph.schema.hosts import IsTrusted, is_origin_of
from retrograph.schema.identity import FindCaller
from retrograph.schema.persisted import find_document
from retrograph.schema.schema import Schema
from retrograph.schema.socket_adapter import TRY_AGAIN_LATER, SocketAdapter
from retrograph.schema.socket_messages import is_message
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS, StreamLimits
from retrograph.schema.wire import NotJson, read_json, write_json

GOING_AWAY = 1001
FORBIDDEN = 4403

Visitor = Caller | WebSocket
"""Who is at the other end: until `connection_init` nobody but the socket itself."""

_log = logging.getLogger(__name__)


class _Handler(BaseGraphQLTransportWSHandler[Visitor, None]):
    view: SocketEndpoint
    websocket: SocketAdapter

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._running: set[asyncio.Task[Any]] = set()
        self._counted = ExitStack()

    async def handle(self) -> None:
        """Serves the socket until one side ends it, or the peer has read nothing for too long."""
        serving = asyncio.create_task(super().handle())
        losing = asyncio.create_task(self.websocket.gone.wait())
        self.view.open.add(self)
        try:
            await asyncio.wait({serving, losing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.view.open.discard(self)
            losing.cancel()
            if not serving.done():
                serving.cancel()
        with self._counted, suppress(asyncio.CancelledError):
            await serving

    async def handle_message(self, message: Message) -> None:
        """Closes with 4400 what is no message of the protocol."""
        if not is_message(message):
            await self.handle_invalid_message("Invalid message")
            return
        if message["type"] == "connection_init" and message.get("payload") is None:
            message = {"type": "connection_init", "payload": {}}
        await super().handle_message(message)

    async def handle_connection_init(self, message: ConnectionInitMessage) -> None:
        """Finds out who asks, by the payload or the headers.

        Closes with 4403 without proof, and with 1013 where the caller has too many sockets.
        """
        if not self.connection_init_received:
            assert isinstance(self.context, WebSocket)  # noqa: S101 (nobody else so far)
            try:
                caller = await self.view.find_caller(self.context, message["payload"])
                self._counted.enter_context(caller.opens("sockets"))
            except Unauthenticated as unproven:
                await self.websocket.close(FORBIDDEN, unproven.message)
                return
            except TooManyStreams as refusal:
                await self.websocket.close(TRY_AGAIN_LATER, refusal.message)
                return
            self.context = caller
        await super().handle_connection_init(message)

    async def handle_subscribe(self, message: SubscribeMessage) -> None:
        """Begins an operation, unless too many are running or the caller's proof has expired."""
        if self.is_expired():
            await self.leave(FORBIDDEN, EXPIRED)
            return
        most = self.view.limits.operations
        if message["id"] not in self.operations and len(self._running) >= most:
            await self.send_message(_error(message["id"], _too_many(most)))
            return
        try:
            message["payload"]["query"] = self._document(message["payload"])
        except GraphQLError as refusal:
            await self.send_message(_error(message["id"], refusal.formatted))
            return
        await super().handle_subscribe(message)
        operation = self.operations.get(message["id"])
        if operation is not None and operation.task is not None:
            self._running.add(operation.task)
            operation.task.add_done_callback(self._running.discard)

    def _document(self, payload: SubscribeMessagePayload) -> str:
        """The document of an operation, which may be named by its hash; raises `GraphQLError`."""
        caller = self.context
        given: dict[str, Any] = {**payload}
        documents = caller.protection.documents if isinstance(caller, Caller) else None
        return find_document(given.get("query"), given.get("extensions"), documents) or ""

    async def cleanup_operation(self, operation_id: str) -> None:
        """Ends an operation, but not in the middle of an event: nothing is said of it any more."""
        operation = self.operations.pop(operation_id, None)
        if operation is not None and operation.task is not None:
            operation.completed = True
            assert isinstance(self.context, Caller)  # noqa: S101 (whoever began it)
            self.context.bell.end(operation.task)

    async def handle_task_exception(self, error: Exception) -> None:
        """A client that has gone is no fault."""
        if not isinstance(error, WebSocketDisconnected):
            await super().handle_task_exception(error)

    async def _send_result_stream(
        self, operation: Operation[Visitor, None], result_source: StreamResult
    ) -> None:
        """An error that lets nothing come of the operation, or nothing more, is what ends it."""
        async for result in result_source:
            assert isinstance(result, ExecutionResult)  # noqa: S101 (the schema defers nothing)
            if isinstance(result, PreExecutionError) or is_request_error(result):
                await operation.send_initial_errors(result.errors or [])
                return
            way: object = result.data
            if isinstance(way, Way):
                await self._send_along(operation, way)
            else:
                await operation.send_next(result)

    async def _send_along(self, operation: Operation[Visitor, None], way: Way) -> None:
        """Sends what is told together; a peer that reads nothing hears at last where it stands."""
        id = write_json(operation.id)
        while (taken := await way.take()) and not operation.completed:
            try:
                await self.websocket.send_next(id, taken)
            except TimeoutError:
                lagged = Lagged(way.cursor)
                told: GraphQLFormattedError = {
                    "message": lagged.message,
                    "extensions": extensions_of(lagged),
                }
                await self.websocket.dismiss(_error(operation.id, told), lagged.code)
                raise WebSocketDisconnected from lagged

    def is_expired(self) -> bool:
        """Whether the caller's proof has expired."""
        return isinstance(self.context, Caller) and self.context.is_expired()

    async def leave(self, code: int, reason: str) -> None:
        """Gives the operations that are ending time to end, then closes."""
        if self._running:
            await asyncio.wait(self._running, timeout=self.view.limits.goodbye)
        await self.websocket.close(code, reason)


class SocketEndpoint(GraphQL[Visitor, None]):
    """Serves sockets on one route; `find_caller` tells who asks.

    A page may open one from the host it asks, from one that `is_trusted`, or from one of `origins`,
    of which `*` is every one.
    """

    graphql_transport_ws_handler_class = _Handler
    websocket_adapter_class = SocketAdapter

    def __init__(
        self,
        schema: Schema,
        find_caller: FindCaller,
        is_trusted: IsTrusted,
        limits: StreamLimits = DEFAULT_STREAM_LIMITS,
        origins: Sequence[str] = (),
    ) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL],
            connection_init_wait_timeout=timedelta(seconds=limits.handshake),
            max_subscriptions_per_connection=None,
        )
        self.find_caller = find_caller
        self.limits = limits
        self.open: set[_Handler] = set()
        self._is_trusted = is_trusted
        self._origins = frozenset(origins)
        self._leaving: set[asyncio.Task[None]] = set()

    def is_websocket_origin_allowed(self, request: Request | WebSocket, origin: str) -> bool:
        """Whether a page from another origin than the one it asks may open a socket."""
        named = not self._origins.isdisjoint((origin, "*"))
        allowed = named or is_origin_of(origin, self._is_trusted)
        if not allowed:
            _log.debug("refused: a page of the origin %r; --cors-origins doesn't name it", origin)
        return allowed

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> Visitor:
        """The socket; its first message tells who asks, for all operations."""
        assert isinstance(request, WebSocket)  # noqa: S101 (it stands on a WebSocket's route)
        return request

    def decode_json(self, data: str | bytes) -> object:
        """The value of a message's text."""
        try:
            return read_json(data)
        except NotJson as error:
            raise json.JSONDecodeError(str(error), "", 0) from None

    def encode_json(self, data: object) -> str:
        """The text of a message; bytes would become a binary frame."""
        return write_json(data).decode()

    def expire(self) -> None:
        """Closes the sockets whose callers' proof has expired; to be called every now and then."""
        for each in [each for each in self.open if each.is_expired()]:
            self.open.discard(each)
            leaving = asyncio.create_task(each.leave(FORBIDDEN, EXPIRED))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def drain(self) -> None:
        """Closes every socket when its operations have come to an end; subscriptions must."""
        reason = "The server is stopping; connect again."
        await asyncio.gather(*(each.leave(GOING_AWAY, reason) for each in list(self.open)))


def _too_many(most: int) -> GraphQLFormattedError:
    return {
        "message": f"A socket runs at most {most} operations at once; end some, or open another.",
        "extensions": {"code": "TOO_MANY_OPERATIONS"},
    }


def _error(id: str, error: GraphQLFormattedError) -> ErrorMessage:
    return {"id": id, "type": "error", "payload": [error]}
