"""A span for each operation: its kind, its name, its cost, and the code of its first error.

Not Strawberry's own extension, which makes one for every field and tells the query and arguments.
A subscription's ends when it has begun: what it tells later is no part of a request.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.types.graphql import OperationType

from retrograph import tracing
from retrograph.schema.context import Caller, Context

UNKNOWN = "GraphQL operation"
"""The name of what didn't come so far that its kind is known."""


class OperationTrace(SchemaExtension):
    """One operation; a feed's own, which many share, is not told of."""

    _span: tracing.Span | None = None

    def on_operation(self) -> Iterator[None]:
        """Begins with the text and ends with the answer."""
        operation = self.execution_context
        if isinstance(operation.context, Caller) and operation.context.reading is not None:
            yield
            return
        self._span = tracing.span(UNKNOWN)
        try:
            yield
        finally:
            self._end(self._span)

    def on_execute(self) -> Iterator[None]:
        """What is read and written is a part of it."""
        span, operation = self._span, self.execution_context
        if span is None:
            yield
            return
        kind, name = operation.operation_type, operation.operation_name or ""
        span.rename(f"{kind.value} {name}".rstrip())
        span.tell(graphql__operation__type=kind.value, graphql__operation__name=name)
        with span.current():
            yield
        if kind is OperationType.SUBSCRIPTION:
            self._end(span)

    def _end(self, span: tracing.Span) -> None:
        operation = self.execution_context
        context, result = operation.context, operation.result
        if isinstance(context, Context) and context.cost is not None:
            span.tell(retrograph__cost=context.cost)
        errors = operation.pre_execution_errors or getattr(result, "errors", None)
        if errors:
            span.fail(_code(errors[0]))
        span.end()


def _code(error: GraphQLError) -> str:
    code = (error.extensions or {}).get("code") or getattr(error.original_error, "code", None)
    return str(code or "INTERNAL")
