"""The custom scalars: instants, 64-bit integers, and JSON kept as its canonical text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NewType

import strawberry
from graphql import (
    EnumValueNode,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    value_from_ast_untyped,
)

from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import format_instant, parse_instant
from retrograph.rules.limits import check_long
from retrograph.schema.wire import embedded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strawberry.types.scalar import ScalarDefinition

DateTime = NewType("DateTime", int)
"""UTC microseconds inside, RFC 3339 outside."""

Long = NewType("Long", int)
"""A 64-bit integer inside, its decimal digits outside."""

JSON = NewType("JSON", object)
"""Going out, the text of a JSON document; coming in, the value that the caller wrote."""

Vector = NewType("Vector", object)
"""Coming in, base64 of float32 numbers or a list of numbers, as the caller wrote it."""


def _read_instant(value: Any) -> DateTime:
    if not isinstance(value, str):
        raise InvalidInput("Give an instant as a string, like 2024-05-01T09:30:00.123456Z.")
    return DateTime(parse_instant(value))


def write_long(number: int) -> str:
    """The decimal digits of a 64-bit integer."""
    return str(number)


def _read_long(value: Any) -> Long:
    return Long(check_long(value))


def _read_json(value: Any) -> Any:
    return value


def _read_json_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> Any:
    _check_literal(node)
    return value_from_ast_untyped(node, variables)


def _check_literal(node: ValueNode) -> None:
    """Refuses names of enums, which GraphQL has and JSON hasn't; NaN is spelt like one."""
    if isinstance(node, EnumValueNode):
        raise InvalidInput(f"{node.value} is no JSON value; write a string in quotes, or null.")
    if isinstance(node, ListValueNode):
        for each in node.values:
            _check_literal(each)
    if isinstance(node, ObjectValueNode):
        for field in node.fields:
            _check_literal(field.value)


SCALARS: Mapping[object, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description=(
            "A UTC instant: RFC 3339 with `Z` and at most six fractional digits. What is read "
            "back names the very same version."
        ),
        specified_by_url="https://scalars.graphql.org/andimarek/date-time.html",
        serialize=format_instant,
        parse_value=_read_instant,
    ),
    Long: strawberry.scalar(
        name="Long",
        description=(
            "A 64-bit integer as a decimal string (JavaScript's numbers lose digits past 2^53)."
        ),
        serialize=write_long,
        parse_value=_read_long,
    ),
    JSON: strawberry.scalar(
        name="JSON",
        description=(
            "Any JSON value. Stored as canonical JSON (RFC 8785): equal content is equal text."
        ),
        specified_by_url=(
            "https://ecma-international.org/publications-and-standards/standards/ecma-404/"
        ),
        serialize=embedded,
        parse_value=_read_json,
        parse_literal=_read_json_literal,
    ),
    Vector: strawberry.scalar(
        name="Vector",
        description=(
            "A float32 vector: base64 of its little-endian bytes. A list of numbers is accepted "
            "as input too."
        ),
        serialize=_read_json,
        parse_value=_read_json,
        parse_literal=_read_json_literal,
    ),
}
