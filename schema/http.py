"""GraphQL over HTTP: what is asked is executed, and what comes of it is told by its status."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from strawberry.exceptions import MissingQueryError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from retrograph.rules.errors import Unauthenticated
from retrograph.schema.answers import answer_of
from retrograph.schema.context import Caller
from retrograph.schema.event_stream import EventStream
from retrograph.schema.failures import is_request_error, tell_missing
from retrograph.schema.http_request import GraphQLRequest, read_request
from retrograph.schema.identity import FindCaller, shows_bearer
from retrograph.schema.negotiation import (
    EVENT_STREAM,
    GRAPHQL_RESPONSE,
    JSON,
    accepts_stream,
    negotiate,
)
from retrograph.schema.refusals import Refused, error_response, json_response
from retrograph.schema.schema import Schema
from retrograph.schema.stream_limits import StreamLimits

_log = logging.getLogger(__name__)


class HttpEndpoint:
    """Answers requests on one route; `find_caller` tells who asks.

    The body of a request may take `patience` seconds to arrive; `limits` are those of streams.
    """

    def __init__(
        self, schema: Schema, find_caller: FindCaller, patience: float, limits: StreamLimits
    ) -> None:
        self._schema = schema
        self._find_caller = find_caller
        self._patience = patience
        self._limits = limits

    async def answer(self, request: Request) -> Response:
        """The response; errors are JSON, and never a traceback."""
        accept = ", ".join(request.headers.getlist("accept"))
        media_type = negotiate(accept)
        refusal_type = JSON if media_type in {None, EVENT_STREAM} else media_type
        try:
            if media_type is None:
                raise Refused(406, f"Accept {GRAPHQL_RESPONSE} or {JSON}.", "NOT_ACCEPTABLE")
            caller = await self._find_caller(request)
            asked = await read_request(request, self._patience)
            if media_type == EVENT_STREAM:
                return await self._stream(asked, caller)
            return await self._execute(asked, caller, media_type, streams=accepts_stream(accept))
        except Unauthenticated as unproven:
            return error_response(_unproven(unproven, request), refusal_type)
        except Refused as refused:
            _log.debug("refused: %s, %s", refused.status, refused.code)
            return error_response(refused, refusal_type)

    async def _stream(self, asked: GraphQLRequest, caller: Caller) -> Response:
        allowed = asked.allowed | {OperationType.SUBSCRIPTION}
        results = await self._schema.stream(**_operation(asked, caller, allowed))
        return EventStream(results, caller.bell, self._limits)

    async def _execute(
        self, asked: GraphQLRequest, caller: Caller, media_type: str, *, streams: bool
    ) -> Response:
        try:
            result = await self._schema.execute(**_operation(asked, caller, asked.allowed))
        except (MissingQueryError, CannotGetOperationTypeError) as missing:
            raise Refused(400, tell_missing(missing)) from None
        except InvalidOperationTypeError as error:
            if streams and error.operation_type is OperationType.SUBSCRIPTION:
                return await self._stream(asked, caller)
            raise _not_over_http(error.operation_type) from None
        return _respond(result, media_type)


def _operation(
    asked: GraphQLRequest, caller: Caller, allowed: frozenset[OperationType]
) -> dict[str, Any]:
    return {
        "query": asked.query,
        "variable_values": asked.variables,
        "context_value": caller,
        "operation_name": asked.operation_name,
        "allowed_operation_types": allowed,
        "operation_extensions": asked.extensions,
    }


def _unproven(error: Unauthenticated, request: Request) -> Refused:
    """RFC 6750, 3.1: a wrong token is told by a code; no token, or another scheme, isn't."""
    wrong = ', error="invalid_token"' if shows_bearer(request) else ""
    challenge = {"www-authenticate": f'Bearer realm="retrograph"{wrong}'}
    return Refused(401, error.message, error.code, challenge)


def _respond(result: ExecutionResult, media_type: str) -> Response:
    failed = is_request_error(result) and media_type == GRAPHQL_RESPONSE
    return json_response(answer_of(result), 400 if failed else 200, media_type)


def _not_over_http(operation: OperationType) -> Refused:
    if operation is OperationType.MUTATION:
        return Refused(405, "Mutations take POST.", "METHOD_NOT_ALLOWED", {"allow": "POST"})
    return Refused(400, f"Accept {EVENT_STREAM} to subscribe, or open a WebSocket.")
