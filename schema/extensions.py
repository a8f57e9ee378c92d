"""What every operation goes through: a context of its own, limits, and `extensions.asOf`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphql import GraphQLError, OperationDefinitionNode
from strawberry.extensions import SchemaExtension
from strawberry.types import ExecutionContext

from retrograph.schema.context import Caller, Context
from retrograph.schema.current_request import note_operation
from retrograph.schema.documents import Documents
from retrograph.schema.limits import MAX_TOKENS, check_document


class Lifecycle(SchemaExtension):
    """One operation from its text to its answer.

    The transport knows the caller; a WebSocket carries many operations for one, and each reads at
    instants of its own.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def on_operation(self) -> Iterator[None]:
        """Makes the operation's context of the caller."""
        operation = self.execution_context
        assert isinstance(operation.context, Caller)  # noqa: S101 (what our transports give)
        operation.context = Context(operation.context)
        operation.parse_options["max_tokens"] = MAX_TOKENS
        yield

    def on_parse(self) -> Iterator[None]:
        """Spares the parsing of a document that is known."""
        operation = self.execution_context
        operation.graphql_document = self._documents.find(operation.query)
        yield

    def on_validate(self) -> Iterator[None]:
        """Refuses what exceeds a limit before validation works hard; spares it where known."""
        operation = self.execution_context
        document = operation.graphql_document
        assert document is not None  # noqa: S101 (it was parsed)
        known = self._documents.find(operation.query) is document
        refusal = ambiguous(operation) or (None if known else check_document(document))
        if known or refusal:
            operation.pre_execution_errors = [refusal] if refusal else []
        yield
        note_operation(operation.operation_name)
        if not operation.pre_execution_errors:
            operation.context.validated = True
            self._documents.remember(operation.query, document)

    def get_results(self) -> dict[str, Any]:
        """The instants that fields without `asOf` were read at, by fleet."""
        context = self.execution_context.context
        shown = context.instants.shown() if isinstance(context, Context) else {}
        return {"asOf": shown} if shown else {}


def ambiguous(operation: ExecutionContext) -> GraphQLError | None:
    """The error of a document with several operations of which none was chosen."""
    document = operation.graphql_document
    named = operation._provided_operation_name  # noqa: SLF001 (operation_name guesses the first)
    if named is not None or document is None:
        return None
    if sum(isinstance(each, OperationDefinitionNode) for each in document.definitions) < 2:
        return None
    return GraphQLError(
        "The document has several operations; choose one with `operationName`.",
        extensions={"code": "BAD_USER_INPUT"},
    )
