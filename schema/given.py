"""What an operation gives to the arguments of its fields, read before anything is coerced.

A value that can't be, such as a text where a number belongs, counts as nothing: it is refused when
the variables are coerced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    IntValueNode,
    ListValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
)

_MOST_DIGITS = 10
"""Of a 32-bit integer."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is given to one argument: a literal or a variable, or the argument's default.

    `defaults` are those of the operation's variables.  `member` is the field that is meant of an
    input object.
    """

    type: GraphQLInputType
    node: ValueNode | None
    default: Any
    defaults: Mapping[str, ValueNode | None]
    member: str | None = None

    def within(self, name: str) -> Given | None:
        """What is given to a field of the input object that is given to it, if there is such."""
        inner = get_named_type(self.type)
        if not isinstance(inner, GraphQLInputObjectType) or name not in inner.fields:
            return None
        field = inner.fields[name]
        return Given(field.type, self.node, field.default_value, self.defaults, name)

    @property
    def holds_lists(self) -> bool:
        """Whether lists may be given to it, be it inside an object."""
        return _holds_lists(self.type)

    def number(self, variables: Mapping[str, Any], most: int) -> int:
        """The number that is given, but 1 at least and `most` at most; 1 for what is none."""
        value = self._value(self.node, variables)
        if self.member is not None:
            value = self._value(dict(_fields(value)).get(self.member), variables)
        if value is Undefined:
            value = self.default
        if isinstance(value, IntValueNode) and len(value.value) <= _MOST_DIGITS + 1:
            value = int(value.value)
        is_number = isinstance(value, int | float) and abs(value) < 2**31
        return min(max(1, int(value)), most) if is_number else 1

    def lengths(self, variables: Mapping[str, Any]) -> Iterator[int]:
        """The length of each list that is given, those of lists inside it, too."""
        return self._lengths(self.type, self.node, variables)

    def _value(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """What a literal or a variable stands for; `Undefined` where nothing is given."""
        if not isinstance(value, VariableNode):
            return Undefined if value is None else value
        name = value.name.value
        if name in variables:
            return variables[name]
        default = self.defaults.get(name)
        return Undefined if default is None else default

    def _lengths(self, type_: Any, value: Any, variables: Mapping[str, Any]) -> Iterator[int]:
        type_, value = get_nullable_type(type_), self._value(value, variables)
        if not _holds_lists(type_):
            return
        if isinstance(type_, GraphQLList):
            items = value.values if isinstance(value, ListValueNode) else value
            if isinstance(items, list | tuple):
                yield len(items)
                for item in items if _holds_lists(type_.of_type) else ():
                    yield from self._lengths(type_.of_type, item, variables)
            return
        for name, inner in _fields(value):
            if name in type_.fields:
                yield from self._lengths(type_.fields[name].type, inner, variables)


def find_given(
    field: GraphQLField, node: FieldNode, defaults: Mapping[str, ValueNode | None]
) -> dict[str, Given]:
    """What a field's arguments are given, by the argument's name."""
    nodes = {each.name.value: each.value for each in node.arguments or ()}
    return {
        name: Given(argument.type, nodes.get(name), argument.default_value, defaults)
        for name, argument in field.args.items()
    }


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, ObjectValueNode):
        yield from ((each.name.value, each.value) for each in value.fields)
    elif isinstance(value, Mapping):
        yield from value.items()


@cache
def _holds_lists(type_: GraphQLInputType) -> bool:
    inner = get_nullable_type(type_)
    if isinstance(inner, GraphQLList):
        return True
    named = get_named_type(inner)
    return isinstance(named, GraphQLInputObjectType) and any(
        _holds_lists(each.type) for each in named.fields.values()
    )
