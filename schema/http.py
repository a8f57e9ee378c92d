"""GraphQL over HTTP: GET for queries, POST for queries and mutations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphql import GraphQLError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from strawberry.exceptions import MissingQueryError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from retrograph.rules.errors import Unauthenticated
from retrograph.schema.context import Caller
from retrograph.schema.identity import HEADER, FindCaller
from retrograph.schema.limits import MAX_BODY_BYTES
from retrograph.schema.negotiation import GRAPHQL_RESPONSE, JSON, negotiate
from retrograph.schema.schema import Schema
from retrograph.schema.wire import NotJson, read_json, write_json

_log = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not executed: its HTTP status, what to tell, and headers to add."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str = "BAD_REQUEST",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What a request asks the schema to execute."""

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None
    allowed: frozenset[OperationType]


class HttpEndpoint:
    """Answers requests on one route; `find_caller` tells who asks."""

    def __init__(self, schema: Schema, find_caller: FindCaller) -> None:
        self._schema = schema
        self._find_caller = find_caller

    async def answer(self, request: Request) -> Response:
        """The response; errors are JSON, and never a traceback."""
        media_type = negotiate(request.headers.get("accept"))
        try:
            if media_type is None:
                raise Refused(406, f"Accept {GRAPHQL_RESPONSE} or {JSON}.", "NOT_ACCEPTABLE")
            caller = await self._find_caller(request)
            result = await self._execute(await _read(request), caller)
        except Unauthenticated as unproven:
            return error_response(_unproven(unproven, request), media_type or JSON)
        except Refused as refused:
            return error_response(refused, media_type or JSON)
        return _respond(result, media_type)

    async def _execute(self, asked: GraphQLRequest, caller: Caller) -> ExecutionResult:
        try:
            return await self._schema.execute(
                asked.query,
                variable_values=asked.variables,
                context_value=caller,
                operation_name=asked.operation_name,
                allowed_operation_types=asked.allowed,
            )
        except MissingQueryError:
            raise Refused(400, "Give a GraphQL document as `query`.") from None
        except CannotGetOperationTypeError as error:
            raise Refused(400, error.as_http_error_reason()) from None
        except InvalidOperationTypeError as error:
            raise _not_over_http(error.operation_type) from None


def _unproven(error: Unauthenticated, request: Request) -> Refused:
    """RFC 6750: what is wrong with a token is told by a code, and only if there was one."""
    wrong = ', error="invalid_token"' if HEADER in request.headers else ""
    challenge = {"www-authenticate": f'Bearer realm="retrograph"{wrong}'}
    return Refused(401, error.message, error.code, challenge)


def error_response(refused: Refused, media_type: str = JSON) -> Response:
    """A refusal as JSON, in the shape of a GraphQL response without data."""
    error = {"message": str(refused), "extensions": {"code": refused.code}}
    return _response({"errors": [error]}, refused.status, media_type, refused.headers)


def _respond(result: ExecutionResult, media_type: str) -> Response:
    answer: dict[str, object] = {}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    request_error = result.data is None and _before_execution(result.errors or [])
    if not request_error:
        answer["data"] = result.data
    if result.extensions:
        answer["extensions"] = result.extensions
    failed = request_error and media_type == GRAPHQL_RESPONSE
    return _response(answer, 400 if failed else 200, media_type, {})


def _before_execution(errors: list[GraphQLError]) -> bool:
    """Whether nothing was executed: then the response has no `data` at all."""
    return bool(errors) and all(error.path is None for error in errors)


def _response(
    answer: Mapping[str, object], status: int, media_type: str, headers: Mapping[str, str]
) -> Response:
    return Response(
        write_json(answer),
        status_code=status,
        media_type=f"{media_type}; charset=utf-8",
        headers={"vary": "accept", **headers},
    )


def _not_over_http(operation: OperationType) -> Refused:
    if operation is OperationType.MUTATION:
        return Refused(405, "Mutations take POST.", "METHOD_NOT_ALLOWED", {"allow": "POST"})
    return Refused(400, "Subscriptions take a WebSocket, with graphql-transport-ws.")


async def _read(request: Request) -> GraphQLRequest:
    if request.method == "POST":
        body = await _read_body(request)
        return _checked(body, frozenset({OperationType.QUERY, OperationType.MUTATION}))
    fields: dict[str, Any] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in fields:
            fields[name] = _parsed(fields[name], name)
    return _checked(fields, frozenset({OperationType.QUERY}))


async def _read_body(request: Request) -> dict[str, Any]:
    content_type, *parameters = request.headers.get("content-type", "").lower().split(";")
    charsets = {each.strip() for each in parameters if each.strip().startswith("charset=")}
    if content_type.strip() != JSON or charsets - {"charset=utf-8", 'charset="utf-8"'}:
        wanted = {"accept-post": JSON}
        raise Refused(415, f"Send {JSON} in UTF-8.", "UNSUPPORTED_MEDIA_TYPE", wanted)
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(415, "Send the body without a content encoding.", "UNSUPPORTED_MEDIA_TYPE")
    fields = _parsed(await _limited(request), "body")
    if not isinstance(fields, dict):
        raise Refused(400, "Send one JSON object with `query`, and `variables` where needed.")
    return cast("dict[str, Any]", fields)


async def _limited(request: Request) -> bytes:
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                most = f"Send at most {MAX_BODY_BYTES:,} bytes."
                raise Refused(413, most, "PAYLOAD_TOO_LARGE", {"connection": "close"})
            chunks.append(chunk)
    except ClientDisconnect:
        _log.debug("a client left in the middle of its body")
        raise Refused(400, "The body ended before its end.") from None
    return b"".join(chunks)


def _parsed(text: bytes | str, name: str) -> object:
    try:
        return read_json(text)
    except NotJson:
        raise Refused(400, f"The {name} is no JSON in UTF-8.") from None


def _checked(fields: Mapping[str, Any], allowed: frozenset[OperationType]) -> GraphQLRequest:
    query, variables = fields.get("query"), fields.get("variables")
    name, extensions = fields.get("operationName"), fields.get("extensions")
    if not isinstance(query, str) or not query:
        raise Refused(400, "Give a GraphQL document as `query`, a string.")
    if variables is not None and not isinstance(variables, dict):
        raise Refused(400, "Give `variables` as an object.")
    if name is not None and not isinstance(name, str):
        raise Refused(400, "Give `operationName` as a string.")
    if extensions is not None and not isinstance(extensions, dict):
        raise Refused(400, "Give `extensions` as an object.")
    return GraphQLRequest(query, variables, name or None, allowed)
