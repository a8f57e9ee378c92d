"""Execution of a subscription for many items at once, as far as columns and `together` reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from graphql import ExecutionResult, GraphQLObjectType, GraphQLOutputType
from graphql.execution import ExperimentalIncrementalExecutionResults
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet, collect_fields
from graphql.pyutils import AwaitableOrValue

from retrograph.schema.batch import Batch
from retrograph.schema.columns import nullable
from retrograph.schema.feed import Following
from retrograph.schema.projection import Data, ProjectingExecutor
from retrograph.schema.together import Fetch, fetch_of


class _Linked(NamedTuple):
    """A field whose objects are fetched together."""

    fetch: Fetch
    plan: _Plan
    may_be_null: bool


class _Plan(NamedTuple):
    """What is selected of an object type where all of it can be worked out for many objects."""

    kind: GraphQLObjectType
    grouped: GroupedFieldSet
    linked: dict[str, _Linked]


class BatchingExecutor(ProjectingExecutor):
    """Executes what comes in the place of a subscription's items: a batch, a way along a feed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._roots: list[tuple[str, _Plan | None]] = []

    def build_per_event_executor(self, payload: Any) -> Self:
        """The executor of an item: a copy, but what it works out for it goes with it.

        Fields are collected anew for each item, so that what is remembered of them would never be
        found again, and never go. For a batch they are collected once.
        """
        executor: Self = super().build_per_event_executor(payload)  # type: ignore[assignment]
        if not isinstance(payload, Batch):
            executor.forget()
        return executor

    def forget(self) -> None:
        """Forgets what was worked out for fields that were collected before."""
        self._relevant_sub_fields, self._selections = {}, {}

    def execute_operation(
        self, serially: bool | None = None
    ) -> AwaitableOrValue[ExecutionResult | ExperimentalIncrementalExecutionResults]:
        """Executes the operation; a subscription's way along a feed goes to its transport as it is.

        Whoever works out what the feed tells has executed the operation for each event.
        """
        given: Any = self.root_value
        if isinstance(given, Following):
            return ExecutionResult(given, None)  # type: ignore[arg-type]
        if isinstance(given, Batch):
            return self._execute_batch(given)
        return super().execute_operation(serially)

    async def _execute_batch(self, batch: Batch[Any]) -> ExecutionResult:
        """Sets the rows of a batch, if that can be."""
        key, plan = self._root()
        if plan is not None:
            try:
                rows = await self._rows(plan, [item for _, item in batch.items])
                batch.rows = [{key: row} for row in rows]
            except Exception:  # noqa: BLE001, S110 (the plain path meets it, and says where)
                pass
        return ExecutionResult(batch, None)  # type: ignore[arg-type]

    async def _rows(self, plan: _Plan, objects: Sequence[Any]) -> list[Data]:
        """What is selected of each object, none of which is null; raises whatever is wrong."""
        selection = self._selection(plan.kind, plan.grouped)
        values = dict(zip(selection.keys, selection.values(objects), strict=True))
        for key, (fetch, inner, may_be_null) in plan.linked.items():
            found = await fetch(self.context_value, objects)
            there = [each for each in found if each is not None] if may_be_null else found
            rows = iter(await self._rows(inner, there))
            values[key] = [None if each is None and may_be_null else next(rows) for each in found]
        keys = tuple(plan.grouped)
        columns = [values[key] for key in keys]
        if not columns:
            return [{} for _ in objects]
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def _root(self) -> tuple[str, _Plan | None]:
        """The field that is subscribed to and what is selected of it, found once for all copies."""
        if not self._roots:
            kind = self.schema.subscription_type
            assert kind is not None  # noqa: S101 (a batch is a subscription's)
            asked = (self.fragments, self.variable_values, kind, self.operation)
            grouped = collect_fields(self.schema, *asked).grouped_field_set
            key, details = next(iter(grouped.items()))
            field = self.schema.get_field(kind, details[0].node.name.value)
            plan = self._plan(field.type, details) if field and self._projects else None
            self._roots.append((key, plan))
        return self._roots[0]

    def _plan(self, kind: GraphQLOutputType, details: FieldDetailsList) -> _Plan | None:
        """How to work out a field's objects together; None where any of it takes its resolver."""
        inner = nullable(kind)
        if not isinstance(inner, GraphQLObjectType) or inner.is_type_of is not None:
            return None
        grouped, deferred, _ = self.collect_subfields(inner, details)
        linked = {
            key: self._link(inner, details)
            for key, details in self._selection(inner, grouped).rest.items()
        }
        whole = {key: link for key, link in linked.items() if link is not None}
        return None if deferred or len(whole) < len(linked) else _Plan(inner, grouped, whole)

    def _link(self, kind: GraphQLObjectType, details: FieldDetailsList) -> _Linked | None:
        field = self.schema.get_field(kind, details[0].node.name.value)
        fetch = None if field is None else fetch_of(field)
        if field is None or fetch is None:
            return None
        plan = self._plan(field.type, details)
        return None if plan is None else _Linked(fetch, plan, nullable(field.type) is field.type)
