"""Errors of a response: typed for whoever can act on them, masked where they are our own fault."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator

from graphql import GraphQLError, GraphQLSyntaxError
from strawberry.exceptions import MissingQueryError, StrawberryInputCoercionError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionResult

from retrograph.rules.errors import RetrographError
from retrograph.rules.stream_errors import Lagged
from retrograph.schema.limits import TOO_COMPLEX

INTERNAL = "INTERNAL_ERROR"
_UNREADABLE = {"code": "BAD_USER_INPUT"}
_NO_OPERATION = (MissingQueryError, CannotGetOperationTypeError)

_log = logging.getLogger(__name__)


def present(error: GraphQLError, *, validated: bool) -> GraphQLError:
    """The error as a client may see it, with a stable `code` in its extensions.

    What a caller can act on keeps its message. Anything else is logged under an id, and the client
    is told only the id. `validated` tells whether the document had been found valid.
    """
    cause = _cause(error)
    if isinstance(cause, RetrographError):
        shown = _shown(error, cause.message, extensions_of(cause))
    elif isinstance(cause, ValueError) and not validated:
        shown = _shown(error, "A number of the document has too many digits.", dict(_UNREADABLE))
    elif isinstance(cause, _NO_OPERATION):
        shown = _shown(error, tell_missing(cause), {"code": "BAD_USER_INPUT"})
    elif cause is None:
        code: dict[str, object] = {"code": _code(error, validated=validated)}
        shown = _shown(error, error.message, code | (error.extensions or {}))
    elif isinstance(cause, InvalidOperationTypeError):
        shown = _shown(error, "Mutations take POST.", {"code": "METHOD_NOT_ALLOWED"})
    else:
        return _masked(error, cause)
    # Not the message: it may quote a variable's value.
    _log.debug("refused: %s at %s", (shown.extensions or {}).get("code"), shown.path)
    return shown


def tell_missing(cause: MissingQueryError | CannotGetOperationTypeError) -> str:
    """What to give where there is nothing to execute."""
    if isinstance(cause, MissingQueryError):
        return "Give a GraphQL document as `query`."
    if cause.operation_name is None:
        return "The document holds no operation; give it a query, a mutation or a subscription."
    return cause.as_http_error_reason()


def is_request_error(result: ExecutionResult) -> bool:
    """Whether nothing was executed, or nothing can be any more: then there is no data at all.

    An error of a field has a path, also where it leaves nothing of the data.
    """
    errors = result.errors or []
    return result.data is None and bool(errors) and all(each.path is None for each in errors)


def extensions_of(cause: RetrographError) -> dict[str, object]:
    """What a program reads of an error that a caller can act on."""
    code: dict[str, object] = {"code": cause.code}
    if isinstance(cause, Lagged):
        code["cursor"] = cause.cursor
    return code | {"path": list(cause.path)} if cause.path else code


def _masked(error: GraphQLError, cause: BaseException) -> GraphQLError:
    number = secrets.token_hex(8)
    _log.error("internal error %s at %s", number, error.path, exc_info=cause)
    return _shown(
        error,
        f"Something went wrong on our side. Report it with the id {number}.",
        {"code": INTERNAL, "id": number},
    )


def _code(error: GraphQLError, *, validated: bool) -> str:
    if isinstance(error, GraphQLSyntaxError):
        aborted = error.message.endswith("Parsing aborted.")
        return TOO_COMPLEX["code"] if aborted else "GRAPHQL_PARSE_FAILED"
    if validated or isinstance(error, StrawberryInputCoercionError):
        return "BAD_USER_INPUT"
    return "GRAPHQL_VALIDATION_FAILED"


def _cause(error: GraphQLError) -> BaseException | None:
    """What was raised first, if that is no error of GraphQL itself."""
    typed = next((e for e in _chain(error) if isinstance(e, RetrographError)), None)
    if typed is not None:
        return typed
    return next((e for e in _chain(error) if not isinstance(e, GraphQLError)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.original_error if isinstance(error, GraphQLError) else None


def _shown(error: GraphQLError, message: str, extensions: dict[str, object]) -> GraphQLError:
    return GraphQLError(
        message,
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions,
    )
