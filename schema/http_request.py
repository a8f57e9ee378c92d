"""What an HTTP request asks to be executed: GET for queries, POST for queries and mutations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request
from strawberry.types.graphql import OperationType

from retrograph.schema.limits import MAX_BODY_BYTES
from retrograph.schema.negotiation import JSON
from retrograph.schema.refusals import Refused
from retrograph.schema.wire import NotJson, read_json

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What a request asks the schema to execute."""

    query: str
    variables: dict[str, Any] | None
    operation_name: str | None
    allowed: frozenset[OperationType]


async def read_request(request: Request) -> GraphQLRequest:
    """What a request asks for; raises `Refused` with the status that says what is wrong."""
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
