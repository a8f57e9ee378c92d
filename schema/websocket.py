"""GraphQL over WebSockets: graphql-transport-ws, and nothing else.

The shipped handler keeps the protocol's state. Here every message is checked before it sees it,
and what is wrong with one operation is told to that operation, not to the whole socket.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from graphql import GraphQLError
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import (
    BaseGraphQLTransportWSHandler,
)
from strawberry.subscriptions.protocols.graphql_transport_ws.types import Message

from retrograph.schema.context import Caller
from retrograph.schema.hosts import IsTrusted, is_origin_of
from retrograph.schema.identity import FindCaller
from retrograph.schema.schema import Schema
from retrograph.schema.wire import NotJson, read_json, write_json

PATIENCE = timedelta(seconds=15)
"""How long a new socket may take to say `connection_init`."""


class _Handler(BaseGraphQLTransportWSHandler[Caller, None]):
    async def handle_message(self, message: Message) -> None:
        """Closes with 4400 what is no message of the protocol."""
        if not _is_message(message):
            await self.handle_invalid_message("Invalid message")
            return
        if message["type"] == "connection_init" and message.get("payload") is None:
            message = {"type": "connection_init", "payload": {}}
        await super().handle_message(message)

    async def cleanup_operation(self, operation_id: str) -> None:
        """Ends an operation, but not in the middle of an event: nothing is said of it any more."""
        operation = self.operations.pop(operation_id, None)
        if operation is not None and operation.task is not None:
            operation.completed = True
            self.context.bell.end(operation.task)

    async def handle_task_exception(self, error: Exception) -> None:
        """A client that has gone is no fault."""
        if not isinstance(error, WebSocketDisconnected):
            await super().handle_task_exception(error)

    @staticmethod
    def _get_pre_execution_close_reason(error: GraphQLError) -> str | None:
        return None


class SocketEndpoint(GraphQL[Caller, None]):
    """Serves sockets on one route; `find_caller` tells who asks.

    A page may open one from the host it asks, or from one that `is_trusted`.
    """

    graphql_transport_ws_handler_class = _Handler

    def __init__(
        self,
        schema: Schema,
        find_caller: FindCaller,
        is_trusted: IsTrusted,
    ) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL],
            connection_init_wait_timeout=PATIENCE,
        )
        self._find_caller = find_caller
        self._is_trusted = is_trusted

    def is_websocket_origin_allowed(self, request: Request | WebSocket, origin: str) -> bool:
        """Whether a page from another origin than the one it asks may open a socket."""
        return is_origin_of(origin, self._is_trusted)

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> Caller:
        """Who asks: the same for all operations of a socket."""
        assert isinstance(request, WebSocket)  # noqa: S101 (it stands on a WebSocket's route)
        return await self._find_caller(request)

    def decode_json(self, data: str | bytes) -> object:
        """The value of a message's text."""
        try:
            return read_json(data)
        except NotJson as error:
            raise json.JSONDecodeError(str(error), "", 0) from None

    def encode_json(self, data: object) -> str:
        """The text of a message; bytes would become a binary frame."""
        return write_json(data).decode()


def _is_message(message: object) -> bool:
    """Whether a message has the shape that its type demands."""
    if not isinstance(message, Mapping) or not isinstance(message.get("type"), str):
        return False
    if message["type"] in {"subscribe", "complete"}:
        identified = isinstance(message.get("id"), str) and message["id"] != ""
        return identified and (message["type"] == "complete" or _is_request(message.get("payload")))
    return isinstance(message.get("payload"), Mapping | None)


def _is_request(payload: Any) -> bool:
    return (
        isinstance(payload, Mapping)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), Mapping | None)
        and isinstance(payload.get("operationName"), str | None)
    )
