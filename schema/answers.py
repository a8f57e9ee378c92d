"""What an operation came to, in the shape that every transport over HTTP writes."""

from __future__ import annotations

from strawberry.types import ExecutionResult

from retrograph.schema.failures import is_request_error


def answer_of(result: ExecutionResult) -> dict[str, object]:
    """A GraphQL response; one to a request error has no data at all."""
    answer: dict[str, object] = {}
    if result.errors:
        answer["errors"] = [error.formatted for error in result.errors]
    if not is_request_error(result):
        answer["data"] = result.data
    if result.extensions:
        answer["extensions"] = result.extensions
    return answer
