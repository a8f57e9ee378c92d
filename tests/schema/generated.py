"""Operations made from the schema itself: whatever field is added to it is asked for, too.

An operation has one root field and asks for all that can be reached from there. What its arguments
are is up to `Values`, which knows only names and types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
    is_required_input_field,
)

ROOTS = {"query": "Query", "mutation": "Mutation", "subscription": "Subscription"}

_CURSOR = "<cursor>"
"""Where a list may begin behind a cursor."""

_TELLING = {"ID", "String", "JSON"}
"""The scalars that can hold a text or an id."""

Taker = GraphQLArgument | GraphQLInputField
Give = Callable[[str, str], Any]
"""The value of an input by its name and the name of its scalar type."""


@dataclass(frozen=True, slots=True)
class Values:
    """What the arguments of an operation are.

    `give` chooses scalars; `gives` tells whether what may be left out is given, by its name. `refs`
    says which member of a `@oneOf` input is, one after another: 0 the first, 1 the second, and so
    on. Lists below the root field begin behind `cursor`, if there is one. `enums` says which value
    of an enum is given, by its name; else it is the last.
    """

    give: Give
    gives: Callable[[str], bool]
    refs: Sequence[int] = (0,)
    cursor: str | None = None
    enums: Mapping[str, str] = field(default_factory=dict)

    def of(self, takers: Mapping[str, Taker]) -> dict[str, Any]:
        """The values of arguments or fields of an input, by name."""
        refs = iter(list(self.refs) * 100)
        return self._members(takers, refs)

    def _members(self, takers: Mapping[str, Taker], refs: Iterator[int]) -> dict[str, Any]:
        return {
            name: self._value(name, taker.type, refs)
            for name, taker in takers.items()
            if _is_required(taker) or self.gives(name)
        }

    def _value(self, name: str, type: GraphQLInputType, refs: Iterator[int]) -> Any:
        if isinstance(type, GraphQLNonNull):
            return self._value(name, type.of_type, refs)
        if isinstance(type, GraphQLList):
            return [self._value(name, type.of_type, refs)]
        if isinstance(type, GraphQLEnumType):
            return self.enums.get(type.name, list(type.values)[-1])
        if not isinstance(type, GraphQLInputObjectType):
            return self.give(name, get_named_type(type).name)
        if type.is_one_of:
            members = list(type.fields.items())
            chosen, taker = members[next(refs) % len(members)]
            return {chosen: self._value(chosen, taker.type, refs)}
        return self._members(type.fields, refs)


@dataclass(frozen=True, slots=True)
class Operation:
    """What to send: a document and its variables."""

    coordinate: str
    document: str
    variables: dict[str, Any]


@dataclass(slots=True)
class _Part:
    """The selection on one type.

    It leads on to other types if it is `deep`, and gives its fields other names if members of a
    union may have the same.
    """

    type: Any
    deep: bool
    alias: bool = False
    fields: list[tuple[str, _Part | None]] = field(default_factory=list)

    def text(self) -> str:
        shown = (name if part is None else f"{name} {part.text()}" for name, part in self.fields)
        return "{ __typename " + " ".join(shown) + " }"


def root_fields(schema: GraphQLSchema) -> dict[str, tuple[str, GraphQLField]]:
    """Every root field by its coordinate, with the kind of its operations."""
    return {
        f"{root}.{name}": (kind, found)
        for kind, root in ROOTS.items()
        for name, found in schema.type_map[root].fields.items()  # type: ignore[attr-defined]
    }


def operation(schema: GraphQLSchema, coordinate: str, values: Values) -> Operation:
    """An operation that asks for a root field, and in it for every field that it leads to."""
    kind, root = root_fields(schema)[coordinate]
    name, variables = coordinate.partition(".")[2], values.of(root.args)
    declared = [f"${each}: {root.args[each].type}" for each in variables]
    passed = ", ".join(f"{each}: ${each}" for each in variables)
    call = f"{name}({passed})" if passed else name
    selection = _everything(schema, get_named_type(root.type)).text()
    if values.cursor is not None and _CURSOR in selection:
        declared.append("$cursor: String")
        variables["cursor"] = values.cursor
        selection = selection.replace(_CURSOR, "(after: $cursor)")
    head = f"{kind} Asked({', '.join(declared)})" if declared else kind
    document = f"{head} {{ {call} {selection} }}".replace(_CURSOR, "")
    return Operation(coordinate, document, variables)


def optional(schema: GraphQLSchema, coordinate: str) -> list[str]:
    """The names of all inputs of a root field that may be left out."""
    names: set[str] = set()
    queue = [dict(root_fields(schema)[coordinate][1].args)]
    while queue:
        for name, taker in queue.pop().items():
            names |= set() if _is_required(taker) else {name}
            type = get_named_type(taker.type)
            if isinstance(type, GraphQLInputObjectType) and not type.is_one_of:
                queue.append(dict(type.fields))
    return sorted(names)


def _everything(schema: GraphQLSchema, type: Any) -> _Part:
    """All fields of the types that can be reached, each type's once, as near as it can be.

    Where a type stands again, only what can hold a text or an id: all else would be too much.
    """
    start = _Part(type, deep=True)
    known, queue = {type.name}, [start]
    while queue:
        part = queue.pop(0)
        for name, below in _below(schema, part.type, part.alias):
            if is_leaf_type(below):
                if part.deep or below.name in _TELLING:
                    part.fields.append((name, None))
                continue
            fresh = below.name not in known
            if part.deep or (isinstance(below, GraphQLObjectType) and name.startswith("...")):
                child = _Part(below, deep=part.deep and fresh, alias=name.startswith("..."))
                known.add(below.name)
                part.fields.append((name, child))
                queue.append(child)
    return start


def _below(schema: GraphQLSchema, type: Any, alias: bool) -> Iterator[tuple[str, Any]]:
    """What a selection on a type holds: the text of each member, and its type."""
    if isinstance(type, GraphQLUnionType | GraphQLInterfaceType):
        for each in schema.get_possible_types(type):
            yield f"... on {each.name}", each
        return
    for name, found in type.fields.items():
        if any(is_required_argument(arg) for arg in found.args.values()):
            raise NotImplementedError(f"{type}.{name} takes an argument: give it one here")
        inner = get_named_type(found.type)
        text = (f"{type.name}_{name}: " if alias else "") + name
        yield (
            text + (_CURSOR if "after" in found.args else ""),
            inner,
        )


def _is_required(taker: Taker) -> bool:
    if isinstance(taker, GraphQLArgument):
        return is_required_argument(taker)
    return is_required_input_field(taker)


def coordinates(answer: Any) -> Iterator[tuple[str, Any]]:
    """Every `Type.field` of an answer to such an operation, with its value."""
    if isinstance(answer, list):
        for each in answer:
            yield from coordinates(each)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if "__typename" in answer and name != "__typename":
                yield f"{answer['__typename']}.{name.rpartition('_')[2]}", value
            yield from coordinates(value)
