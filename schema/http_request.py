"""What an HTTP request asks to be executed: GET for queries, POST for queries and mutations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any, cast
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from strawberry.types.graphql import OperationType

from retrograph.schema.limits import MAX_BODY_BYTES
from retrograph.schema.negotiation import JSON
from retrograph.schema.persisted import EXTENSION
from retrograph.schema.refusals import Refused
from retrograph.schema.wire import NotJson, read_json

_FIELDS = frozenset({"query", "variables", "operationName", "extensions"})
_CLOSE = {"connection": "close"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What a request asks the schema to execute."""

    query: str | None
    variables: dict[str, Any] | None
    operation_name: str | None
    extensions: dict[str, Any] | None
    allowed: frozenset[OperationType]


async def read_request(request: Request, patience: float) -> GraphQLRequest:
    """What a request asks for; its body may take `patience` seconds to arrive.

    Raises `Refused` with the status that says what is wrong.
    """
    if request.method == "POST":
        _check_body_headers(request.headers)
        body = _parsed(await _body_in_time(request, patience), "body")
        return _checked(_object(body), frozenset({OperationType.QUERY, OperationType.MUTATION}))
    return _checked(_read_parameters(request), frozenset({OperationType.QUERY}))


def _read_parameters(request: Request) -> dict[str, Any]:
    text: bytes = request.scope["query_string"]
    try:
        pairs = parse_qsl(text.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Refused(400, "The URL is no text in UTF-8.") from None
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields and name in _FIELDS:
            raise Refused(400, f"Give `{name}` once.")
        fields[name] = value
    for name in ("variables", "extensions"):
        if name in fields:
            fields[name] = _parsed(fields[name], name)
    return fields


def _check_body_headers(headers: Headers) -> None:
    content_types = headers.getlist("content-type")
    if content_types != [JSON] and not (len(content_types) == 1 and _is_json(content_types[0])):
        wanted = {"accept-post": JSON}
        raise Refused(415, f"Send {JSON} in UTF-8.", "UNSUPPORTED_MEDIA_TYPE", wanted)
    if any(each.lower() != "identity" for each in headers.getlist("content-encoding")):
        plain = {"accept-encoding": "identity"}
        text = "Send the body without a content encoding."
        raise Refused(415, text, "UNSUPPORTED_MEDIA_TYPE", plain)
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > MAX_BODY_BYTES:
        raise _too_large()  # before a client that waits to be told to go on has sent any of it


def _is_json(content_type: str) -> bool:
    read = Message()
    read["content-type"] = content_type
    return read.get_content_type() == JSON and read.get_content_charset("utf-8") == "utf-8"


async def _body_in_time(request: Request, patience: float) -> bytes:
    try:
        async with asyncio.timeout(patience):
            return await _body(request)
    except TimeoutError:
        late = f"The body didn't arrive within {patience:g} seconds."
        raise Refused(408, late, "REQUEST_TIMEOUT", _CLOSE) from None
    except ClientDisconnect:
        _log.debug("a client left in the middle of its body")
        raise Refused(400, "The body ended before its end.") from None


async def _body(request: Request) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large() -> Refused:
    return Refused(413, f"Send at most {MAX_BODY_BYTES:,} bytes.", "PAYLOAD_TOO_LARGE", _CLOSE)


def _parsed(text: bytes | str, name: str) -> object:
    try:
        return read_json(text)
    except NotJson as error:
        raise Refused(400, f"The {name} is {error}.") from None


def _object(body: object) -> dict[str, Any]:
    if isinstance(body, list):
        raise Refused(400, "Send operations one by one: batches are not taken.")
    if not isinstance(body, dict):
        raise Refused(400, "Send one JSON object with `query`, and `variables` where needed.")
    return cast("dict[str, Any]", body)


def _checked(fields: Mapping[str, Any], allowed: frozenset[OperationType]) -> GraphQLRequest:
    query, variables = fields.get("query"), fields.get("variables")
    name, extensions = fields.get("operationName"), fields.get("extensions")
    if variables is not None and not isinstance(variables, dict):
        raise Refused(400, "Give `variables` as an object.")
    if name is not None and not isinstance(name, str):
        raise Refused(400, "Give `operationName` as a string.")
    if extensions is not None and not isinstance(extensions, dict):
        raise Refused(400, "Give `extensions` as an object.")
    named = query is None and EXTENSION in (extensions or {})
    if not (named or (isinstance(query, str) and query)):
        raise Refused(400, "Give a GraphQL document as `query`, a string.")
    return GraphQLRequest(query, variables, name or None, extensions, allowed)
