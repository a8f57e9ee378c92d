"""Columns: fields that are plain attributes, written for many objects at once.

A column knows the exact types of values that it can write, and writes them as the scalar or enum
itself would. Whatever else it meets is `Unexpected`: the caller then takes the plain path, which
writes it, or tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

from graphql import (
    GRAPHQL_MAX_INT,
    GRAPHQL_MIN_INT,
    GraphQLBoolean,
    GraphQLField,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    GraphQLString,
    is_leaf_type,
)
from strawberry.schema.schema_converter import CustomGraphQLEnumType, GraphQLCoreConverter
from strawberry.types.field import StrawberryField

from retrograph.rules.instant import format_instant
from retrograph.schema.scalars import write_long
from retrograph.schema.wire import embedded

Values = Sequence[Any]
Write = Callable[[Values], Values]
"""Writes the values of a column for a response; raises for any that it doesn't know exactly."""

_KEY = "retrograph-column"


class Unexpected(Exception):
    """A value that only the plain path knows what to do with."""


class Column(NamedTuple):
    """A field that is an attribute: how to read it of an object, and how to write its values.

    Without `write` its values are objects, and what is selected of them decides.
    """

    read: Callable[[Any], Any]
    write: Write | None


def mark_columns(schema: GraphQLSchema) -> None:
    """Finds the columns of a schema that Strawberry has made, once, for `column_of`."""
    for each in schema.type_map.values():
        if isinstance(each, GraphQLObjectType):
            for field in each.fields.values():
                column = _column(field)
                if column is not None:
                    field.extensions[_KEY] = column


def column_of(field: GraphQLField) -> Column | None:
    """The column of a field, None where it has a resolver or a type that is not known exactly."""
    column: Column | None = field.extensions.get(_KEY)
    return column


def _column(field: GraphQLField) -> Column | None:
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(definition, StrawberryField) or not definition.is_basic_field:
        return None
    if field.args or definition.default_resolver is not getattr:
        return None
    if not getattr(field.resolve, "_is_default", False):
        return None
    write = writer(field.type)
    is_object = isinstance(nullable(field.type), GraphQLObjectType)
    if write is None and not is_object:
        return None
    return Column(attrgetter(definition.python_name), write)


def nullable(kind: GraphQLOutputType) -> GraphQLOutputType:
    """A type without its exclamation mark."""
    return kind.of_type if isinstance(kind, GraphQLNonNull) else kind


@lru_cache(maxsize=1024)
def writer(kind: GraphQLOutputType) -> Write | None:
    """What writes values of a type of leaves, or of lists of them; None for any other."""
    inner = nullable(kind)
    may_be_null = inner is kind
    if isinstance(inner, GraphQLList):
        items = writer(inner.of_type)
        return None if items is None else _lists(items, may_be_null)
    if isinstance(inner, CustomGraphQLEnumType):
        return _names(inner, may_be_null)
    if not is_leaf_type(inner):
        return None
    return _scalars(inner, may_be_null)


def _lists(write: Write, may_be_null: bool) -> Write:
    types: frozenset[type] = frozenset({list, NoneType} if may_be_null else {list})

    def write_lists(values: Values) -> Values:
        _check(types, values)
        return [None if each is None else write(each) for each in values]

    return write_lists


def _names(kind: CustomGraphQLEnumType, may_be_null: bool) -> Write:
    """The names of an enum's members, which are told by identity: each exists once."""
    members: Iterable[Enum] = kind.wrapped_cls
    names = {id(member): kind.coerce_output_value(member) for member in members}
    known = {**names, id(None): None} if may_be_null else names
    return lambda values: [known[id(value)] for value in values]


def _scalars(kind: GraphQLLeafType, may_be_null: bool) -> Write | None:
    exact = _EXACT.get(kind.coerce_output_value)
    if exact is None:
        return None
    known, write = exact
    types = known | {NoneType} if may_be_null else known

    def write_scalars(values: Values) -> Values:
        _check(types, values)
        if write is None:
            return values
        if None not in values:
            return write(values)
        written = iter(write([value for value in values if value is not None]))
        return [None if value is None else next(written) for value in values]

    return write_scalars


def _check(types: frozenset[type], values: Values) -> None:
    if not types.issuperset(map(type, values)):
        raise Unexpected


def _floats(values: Values) -> Values:
    if not all(map(isfinite, values)):
        raise Unexpected
    return values


def _integers(values: Values) -> Values:
    if values and not GRAPHQL_MIN_INT <= min(values) <= max(values) <= GRAPHQL_MAX_INT:
        raise Unexpected
    return values


def _instants(values: Values) -> Values:
    """The texts of instants; rows that were written together share one."""
    texts = {value: format_instant(value) for value in set(values)}
    return [texts[value] for value in values]


def _json(values: Values) -> Values:
    return list(map(embedded, values))


def _ids(values: Values) -> Values:
    return list(map(str, values))


_EXACT: dict[Callable[..., Any], tuple[frozenset[type], Write | None]] = {
    GraphQLString.coerce_output_value: (frozenset({str}), None),
    GraphQLID.coerce_output_value: (frozenset({str, int}), _ids),
    GraphQLBoolean.coerce_output_value: (frozenset({bool}), None),
    GraphQLInt.coerce_output_value: (frozenset({int}), _integers),
    GraphQLFloat.coerce_output_value: (frozenset({float}), _floats),
    format_instant: (frozenset({int}), _instants),
    write_long: (frozenset({int}), _ids),
    embedded: (frozenset({str}), _json),
}
"""By the function that writes one value on the plain path: the types of values and their writer."""
