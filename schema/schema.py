"""The schema: its types put together, and its text in the schema definition language."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import strawberry
from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLSchema,
    Undefined,
)
from strawberry.extensions.runner import SchemaExtensionsRunner
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext
from strawberry.types.execution import PreExecutionError

from retrograph import tracing
from retrograph.schema.batching import BatchingExecutor
from retrograph.schema.columns import mark_columns
from retrograph.schema.context import Context
from retrograph.schema.documents import Documents
from retrograph.schema.errors import HANDLERS
from retrograph.schema.extensions import Lifecycle
from retrograph.schema.failures import present
from retrograph.schema.guard import guard
from retrograph.schema.limits import MAX_ERRORS
from retrograph.schema.mutation import Mutation
from retrograph.schema.operation_trace import OperationTrace
from retrograph.schema.persisted import find_document
from retrograph.schema.query import Query
from retrograph.schema.scalars import SCALARS
from retrograph.schema.subscription import Subscription


class Schema(strawberry.Schema):
    """Ours: errors are shown or masked in one place, and what may be left out has no default."""

    def __init__(self, *, sort: bool = False, traced: bool = False) -> None:
        super().__init__(
            query=Query,
            mutation=Mutation,
            subscription=Subscription,
            extensions=[*([OperationTrace] if traced else []), partial(Lifecycle, Documents())],
            execution_context_class=BatchingExecutor,
            exception_handlers=HANDLERS,
            config=StrawberryConfig(sort_schema=sort, scalar_map=SCALARS),
        )
        _drop_null_defaults(self._schema)
        guard(self._schema)
        _mark_one_of(self._schema)
        mark_columns(self._schema)

    def _get_custom_context_kwargs(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Ends the search for mistakes in variables soon, and tells no names of fields there."""
        told = {"max_coercion_errors": MAX_ERRORS, "hide_suggestions": True}
        return super()._get_custom_context_kwargs(*args, **kwargs) | told

    async def _prepare_operation_async(
        self, context: ExecutionContext, extensions_runner: SchemaExtensionsRunner
    ) -> PreExecutionError | None:
        """Finds the document, and lets an extension refuse an operation by raising its error."""
        documents = context.context.caller.protection.documents
        try:
            context.query = find_document(context.query, context.operation_extensions, documents)
            return await super()._prepare_operation_async(context, extensions_runner)
        except GraphQLError as refusal:
            context.pre_execution_errors = [refusal]
            return PreExecutionError(data=None, errors=[refusal])

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Every error of every transport passes here before it is written out."""
        context = execution_context.context if execution_context else None
        validated = isinstance(context, Context) and context.validated
        errors[:] = [present(error, validated=validated) for error in errors]


def make_schema() -> Schema:
    """The schema, traced where anybody traces; made once, since all who serve it may share it."""
    return _made(traced=tracing.is_on())


@cache
def _made(*, traced: bool) -> Schema:
    return Schema(traced=traced)


def sdl() -> str:
    """The schema in the schema definition language, sorted, with a newline at its end."""
    # Sorting makes every type anew, without what Strawberry needs to execute: for printing only.
    return Schema(sort=True).as_str() + "\n"


def _mark_one_of(schema: GraphQLSchema) -> None:
    """Tells validation and introspection which inputs take exactly one of their fields."""
    for each in schema.type_map.values():
        if isinstance(each, GraphQLInputObjectType):
            definition = each.extensions.get("strawberry-definition")
            each.is_one_of = definition is not None and definition.is_one_of


def _drop_null_defaults(schema: GraphQLSchema) -> None:
    """Says nothing of a default where null and nothing mean the same."""
    for each in schema.type_map.values():
        if isinstance(each, GraphQLObjectType):
            takers: list[Any] = [
                arg for field in each.fields.values() for arg in field.args.values()
            ]
        else:
            takers = list(each.fields.values()) if isinstance(each, GraphQLInputObjectType) else []
        for taker in takers:
            if taker.default_value is None:
                taker.default_value = Undefined
