"""Execution that resolves plain attributes of whole lists at once.

The executor of graphql-core calls, completes and places every field of every object by itself.
Where what is selected are columns (see `columns`), a list of objects is answered column by column
instead. On anything unexpected (a null where none may be, NaN, another type) nothing has been
written yet, and the plain path does it all, errors and their paths included.

This leans on methods of graphql-core's executor that aren't part of its public interface: the
versions are exact in `pyproject.toml`, and tests compare both paths.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import lru_cache
from types import CoroutineType, GeneratorType, NoneType
from typing import Any, NamedTuple
from weakref import finalize

from graphql import (
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    Undefined,
)
from graphql.execution.collect_fields import DeferUsage, FieldDetailsList, GroupedFieldSet
from graphql.pyutils import Path
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

from retrograph.schema.columns import Unexpected, Values, Write, column_of, nullable, writer

Data = dict[str, Any]


class Selection(NamedTuple):
    """What is selected of an object type: the columns, and the rest, which has resolvers."""

    keys: tuple[str, ...]
    columns: tuple[tuple[Callable[[Any], Any], Write], ...]
    rest: GroupedFieldSet
    whole: GroupedFieldSet

    def rows(self, objects: Sequence[Any]) -> list[Data]:
        """The columns of each object; raises where the plain path has to look."""
        columns = self.values(objects)
        return [dict(zip(self.keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def values(self, objects: Sequence[Any]) -> list[Values]:
        """The same, column by column."""
        if not all(map(_is_plain, set(map(type, objects)))):
            raise Unexpected
        return [write(list(map(read, objects))) for read, write in self.columns]

    def ordered(self, row: Data, rest: Data) -> Data:
        """The columns and the rest of an object, in the order in which they were asked for."""
        return {key: row[key] if key in row else rest[key] for key in self.whole}


class ProjectingExecutor(StrawberryGraphQLCoreExecutionContext):
    """Strawberry's executor, with columns in the place of fields where that is the same."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._selections: dict[int, Selection] = {}
        middlewares = self.middleware_manager.middlewares if self.middleware_manager else ()
        self._projects = not middlewares and self.abort_signal is None

    def complete_iterable_value(
        self,
        item_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
        position_context: Any,
    ) -> Awaitable[list[Any]] | list[Any]:
        """A list of objects of which only columns are selected, in one go."""
        if self._projects and type(items) is list and len(items) > 1:
            write = self._writer(item_type, field_details_list)
            written = None if write is None else _attempt(write, items)
            if written is not None:
                return list(written)
        return super().complete_iterable_value(
            item_type, field_details_list, info, path, items, position_context
        )

    def execute_collected_subfields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path,
        grouped_field_set: GroupedFieldSet,
        new_defer_usages: Sequence[DeferUsage],
        position_context: Any,
    ) -> Awaitable[Data] | Data:
        """One object: its columns in one go, then what has resolvers."""
        if self._projects and not new_defer_usages:
            selection = self._selection(parent_type, grouped_field_set)
            written = _attempt(selection.rows, [source_value]) if selection.columns else None
            if written is not None:
                return self._with_rest(parent_type, source_value, path, selection, written[0])
        return super().execute_collected_subfields(
            parent_type, source_value, path, grouped_field_set, new_defer_usages, position_context
        )

    def complete_awaitable_value(self, *args: Any, **more: Any) -> Coroutine[Any, Any, Any]:
        """Completes what a resolver gives once it is there.

        Where a field fails, its siblings are cancelled, some before their first step: nobody would
        ever await what their resolvers have given.
        """
        completing = super().complete_awaitable_value(*args, **more)
        given = next((each for each in args if isinstance(each, CoroutineType)), None)
        if given is not None:
            finalize(completing, given.close).atexit = False
        return completing

    def _with_rest(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path,
        selection: Selection,
        row: Data,
    ) -> Awaitable[Data] | Data:
        """A row together with what has resolvers."""
        if not selection.rest:
            return row
        rest = self.execute_fields(parent_type, source_value, path, selection.rest, None)
        if isinstance(rest, dict):
            return selection.ordered(row, rest)

        async def wait() -> Data:
            return selection.ordered(row, await rest)

        return wait()

    def _writer(self, kind: GraphQLOutputType, details: FieldDetailsList) -> Write | None:
        """What writes values of a type, None where anything of it needs the plain path."""
        inner = nullable(kind)
        if not isinstance(inner, GraphQLObjectType):
            return writer(kind)
        if inner.is_type_of is not None:
            return None
        grouped, deferred, _ = self.collect_subfields(inner, details)
        selection = self._selection(inner, grouped)
        if deferred or selection.rest or not selection.columns:
            return None
        return selection.rows if inner is not kind else _or_null(selection.rows)

    def _selection(self, kind: GraphQLObjectType, grouped: GroupedFieldSet) -> Selection:
        """What is selected, worked out once an operation."""
        known = self._selections.get(id(grouped))
        if known is None:
            known = self._selections[id(grouped)] = self._select(kind, grouped)
        return known

    def _select(self, kind: GraphQLObjectType, grouped: GroupedFieldSet) -> Selection:
        keys, columns, rest = [], [], {}
        for key, details in grouped.items():
            column = self._column(kind, details)
            if column is None:
                rest[key] = details
            else:
                keys.append(key)
                columns.append(column)
        return Selection(tuple(keys), tuple(columns), rest, grouped)

    def _column(
        self, kind: GraphQLObjectType, details: FieldDetailsList
    ) -> tuple[Callable[[Any], Any], Write] | None:
        name = details[0].node.name.value
        if name == "__typename":
            return lambda _: kind.name, _as_they_are
        field = self.schema.get_field(kind, name)
        column = None if field is None else column_of(field)
        if field is None or column is None:
            return None
        write = column.write or self._writer(field.type, details)
        return None if write is None else (column.read, write)


def _as_they_are(values: Values) -> Values:
    return values


def _or_null(write: Write) -> Write:
    def write_present(values: Values) -> Values:
        written = iter(write([value for value in values if value is not None]))
        return [None if value is None else next(written) for value in values]

    return write_present


def _attempt(write: Write, values: Values) -> Values | None:
    """What was written, None where anything was unexpected: the plain path meets it again."""
    try:
        return write(values)
    except Exception:  # noqa: BLE001 (attributes may raise what they like; the plain path tells)
        return None


@lru_cache(maxsize=1024)
def _is_plain(kind: type) -> bool:
    """Whether objects of a class are neither null, nor an error, nor to be awaited."""
    special = (NoneType, type(Undefined), BaseException, CoroutineType, GeneratorType)
    return not issubclass(kind, special) and not hasattr(kind, "__await__")
