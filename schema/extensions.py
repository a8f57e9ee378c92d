"""What every operation goes through: a context of its own, limits, and `extensions`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from graphql import GraphQLError, OperationDefinitionNode
from strawberry.extensions import SchemaExtension
from strawberry.types import ExecutionContext
from strawberry.types.graphql import OperationType

from retrograph.schema.context import Asked, Caller, Context
from retrograph.schema.cost import find_prices
from retrograph.schema.current_request import note_operation
from retrograph.schema.documents import Documents, ValidDocument
from retrograph.schema.limits import MAX_TOKENS, check_document
from retrograph.schema.protection import Protection
from retrograph.schema.scan import check_text
from retrograph.schema.validation import find_errors
from retrograph.storage.deadline import timed_out, working_for


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
        """Spares the parsing of a document that is known, and of one that is too large."""
        operation = self.execution_context
        known = self._documents.find(operation.query)
        if known:
            operation.graphql_document = known.document
        elif operation.query:
            _refuse(check_text(operation.query))
        yield

    def on_validate(self) -> Iterator[None]:
        """Finds out whether the document may be executed, and at what cost; validates it itself."""
        operation = self.execution_context
        note_operation(operation.operation_name)
        _refuse(ambiguous(operation))
        operation.pre_execution_errors = self._admit(operation)
        yield

    def _admit(self, operation: ExecutionContext) -> list[GraphQLError]:
        """The errors of an invalid document; raises the error of one that asks too much."""
        context, schema = operation.context, operation.schema._schema  # noqa: SLF001
        document = operation.graphql_document
        assert document is not None  # noqa: S101 (it was parsed)
        protection: Protection = context.caller.protection
        known = self._documents.find(operation.query)
        if known is None:
            _refuse(check_document(document))
            errors = find_errors(schema, document, hints=protection.introspection)
            if errors:
                return errors
            known = ValidDocument(document, find_prices(schema, document))
            self._documents.remember(operation.query, known)
        context.validated = True
        context.asked = _asked(operation)
        name = operation._provided_operation_name  # noqa: SLF001 (operation_name guesses)
        context.cost, items = known.prices.cost(name, operation.variables)
        _refuse(protection.check(known.prices.introspects, context.cost, items))
        return []

    async def on_execute(self) -> AsyncIterator[None]:
        """Gives a query its time. A mutation has to begin in time; it is always told to its end."""
        operation = self.execution_context
        seconds = operation.context.caller.protection.seconds
        if operation.operation_type is not OperationType.QUERY:
            yield
            return
        limit = asyncio.timeout(seconds)
        try:
            with working_for(seconds):
                async with limit:
                    yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise timed_out() from None

    def get_results(self) -> dict[str, Any]:
        """What the operation costs, and the instants that fields without `asOf` were read at."""
        context = self.execution_context.context
        return context.extensions() if isinstance(context, Context) else {}


def _refuse(error: GraphQLError | None) -> None:
    if error is not None:
        raise error


def _asked(operation: ExecutionContext) -> Asked:
    name = operation._provided_operation_name  # noqa: SLF001 (operation_name guesses)
    return Asked(operation.query or "", name, operation.variables or {})


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
