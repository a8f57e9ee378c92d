"""GraphQL over HTTP: what is asked is executed, and what comes of it is told by its status."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response
from strawberry.exceptions import MissingQueryError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from retrograph.rules.errors import Unauthenticated
from retrograph.schema.context import Caller
from retrograph.schema.failures import is_request_error
from retrograph.schema.http_request import GraphQLRequest, read_request
from retrograph.schema.identity import HEADER, FindCaller
from retrograph.schema.negotiation import GRAPHQL_RESPONSE, JSON, negotiate
from retrograph.schema.refusals import Refused, error_response, json_response
from retrograph.schema.schema import Schema

_log = logging.getLogger(__name__)


class HttpEndpoint:
    """Answers requests on one route; `find_caller` tells who asks.

    The body of a request may take `patience` seconds to arrive.
    """

    def __init__(self, schema: Schema, find_caller: FindCaller, patience: float) -> None:
        self._schema = schema
        self._find_caller = find_caller
        self._patience = patience

    async def answer(self, request: Request) -> Response:
        """The response; errors are JSON, and never a traceback."""
        media_type = negotiate(", ".join(request.headers.getlist("accept")))
        try:
            if media_type is None:
                raise Refused(406, f"Accept {GRAPHQL_RESPONSE} or {JSON}.", "NOT_ACCEPTABLE")
            caller = await self._find_caller(request)
            asked = await read_request(request, self._patience)
            result = await self._execute(asked, caller)
        except Unauthenticated as unproven:
            return error_response(_unproven(unproven, request), media_type or JSON)
        except Refused as refused:
            _log.debug("refused: %s, %s", refused.status, refused.code)
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


def _respond(result: ExecutionResult, media_type: str) -> Response:
    answer: dict[str, object] = {}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    request_error = is_request_error(result)
    if not request_error:
        answer["data"] = result.data
    if result.extensions:
        answer["extensions"] = result.extensions
    failed = request_error and media_type == GRAPHQL_RESPONSE
    return json_response(answer, 400 if failed else 200, media_type)


def _not_over_http(operation: OperationType) -> Refused:
    if operation is OperationType.MUTATION:
        return Refused(405, "Mutations take POST.", "METHOD_NOT_ALLOWED", {"allow": "POST"})
    return Refused(400, "Subscriptions take a WebSocket, with graphql-transport-ws.")
