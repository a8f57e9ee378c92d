"""Operations by chance over a schema: valid, almost valid and hostile ones, the same for a seed.

What answers tell (ids, cursors, instants, hashes) is taken up into later operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_required_argument,
)

from tests.schema.fuzz_values import KNOWN, Known, Raw, hostile, literal, scalar

DEEP = 4
"""How many fields the generator puts inside one another, where it means no harm."""
TELLING = ("id", "leaseToken", "confirmation", "planHash", "versionId")
"""Fields that are asked for more often than others: later operations need what they tell."""
ROOTS = ("query", "query", "query", "mutation", "mutation", "subscription")


@dataclass(slots=True)
class Operation:
    """What is sent: the fields of a request."""

    query: str
    variables: Any = None
    operation_name: Any = None

    def body(self) -> dict[str, Any]:
        fields = {"query": self.query, "variables": self.variables}
        return fields | ({} if self.operation_name is None else {"operationName": "Op"})


@dataclass(slots=True)
class Fuzzer:
    """Makes operations; `harm` is the share of choices that are made to do harm."""

    schema: GraphQLSchema
    random: Random
    known: Known = field(default_factory=lambda: {name: list(v) for name, v in KNOWN.items()})
    harm: float = 0.0
    _variables: dict[str, tuple[str, Any]] = field(default_factory=dict)
    _fragments: list[str] = field(default_factory=list)

    def operation(self) -> Operation:
        """One operation."""
        self.harm = self.random.choice((0, 0, 0, 0.01, 0.05, 0.3))
        self._variables, self._fragments = {}, []
        kind = self.random.choice(ROOTS)
        root = {"query": self.schema.query_type, "mutation": self.schema.mutation_type}.get(
            kind, self.schema.subscription_type
        )
        count = 1 if kind == "subscription" else self.random.choice((1, 1, 1, 2, 3))
        fields = " ".join(self._field(root, 0, alias=f"r{n}") for n in range(count))
        named = self.random.random() < 0.2
        head = f"{kind}{' Op' if named else ''}{self._declarations()}"
        text = " ".join([f"{head} {{ {fields} }}", *self._fragments])
        if self._harms():
            text = self._scratched(text)
        values = {name: value for name, (_, value) in self._variables.items()}
        variables = hostile(self.random) if self._harms(0.1) else values
        return Operation(text, variables, "Op" if named else None)

    def learn(self, answer: Any) -> None:
        """Takes up what an answer tells."""
        if isinstance(answer, Mapping):
            if isinstance(answer.get("leaseToken"), str) and isinstance(answer.get("id"), str):
                self.known["lease"] = [f"{answer['id']} {answer['leaseToken']}"]
            for name, value in answer.items():
                if name in self.known and isinstance(value, str):
                    self.known[name] = [*self.known[name][-40:], value]
                self.learn(value)
        elif isinstance(answer, list):
            for each in answer[:3]:
                self.learn(each)

    def _harms(self, share: float = 1.0) -> bool:
        return self.random.random() < self.harm * share

    def _tells(self) -> bool:
        return self.random.random() < 0.4

    def _declarations(self) -> str:
        if not self._variables:
            return ""
        declared = (f"${name}: {type_}" for name, (type_, _) in self._variables.items())
        return f"({', '.join(declared)})"

    def _scratched(self, text: str) -> str:
        """The text with a slice of it gone, doubled, or replaced by what doesn't belong."""
        at, size = self.random.randrange(len(text)), self.random.choice((1, 1, 3, 20))
        piece = text[at : at + size]
        junk = ("", piece * 2, "\0", '"', '"""', "{", "}", "$x", "@skip", "...", "é", "#", "\ud800")
        return text[:at] + self.random.choice(junk) + text[at + size :]

    def _selection(self, type_: Any, depth: int) -> str:
        if isinstance(type_, GraphQLUnionType):
            members = self.random.sample(list(type_.types), self.random.randint(1, 3) % 3 + 1)
            parts = [f"... on {each} {self._selection(each, depth)}" for each in members]
            return "{ __typename " + " ".join(parts) + " }"
        names = list(type_.fields)
        if depth >= DEEP:
            fields = type_.fields
            leaves = [n for n in names if not is_composite_type(get_named_type(fields[n].type))]
            names = leaves or ["__typename"]
        chosen = self.random.sample(names, min(len(names), self.random.randint(1, 5)))
        chosen += [n for n in names if n in TELLING and n not in chosen and self._tells()]
        parts = [self._field(type_, depth, name) for name in chosen if name != "__typename"]
        parts += ["__typename"] if self.random.random() < 0.2 or not parts else []
        return self._wrapped(type_, " ".join(parts))

    def _wrapped(self, type_: Any, inner: str) -> str:
        """A selection, now and then inside a fragment."""
        dice = self.random.random()
        if dice < 0.05:
            name = f"f{len(self._fragments)}"
            self._fragments.append(f"fragment {name} on {type_} {{ {inner} }}")
            return f"{{ ...{name} }}"
        if dice < 0.1:
            return f"{{ ... on {type_} @include(if: true) {{ {inner} }} }}"
        return f"{{ {inner} }}"

    def _field(self, type_: Any, depth: int, name: str | None = None, alias: str = "") -> str:
        name = name or self.random.choice(list(type_.fields))
        found: GraphQLField = type_.fields[name]
        inner = get_named_type(found.type)
        shown = f"{name}x" if self._harms(0.2) else name
        label = f"{alias}: " if alias else ""
        below = self._selection(inner, depth + 1) if is_composite_type(inner) else ""
        if self._harms(0.1):
            below = "" if below else "{ id }"
        return f"{label}{shown}{self._arguments(found)} {below}"

    def _arguments(self, found: GraphQLField) -> str:
        given = [
            f"{name}: {self._value(name, argument)}"
            for name, argument in found.args.items()
            if is_required_argument(argument) != self._harms(0.2) or self.random.random() < 0.3
        ]
        return f"({', '.join(given)})" if given else ""

    def _value(self, name: str, taker: GraphQLArgument | GraphQLInputField) -> str:
        """A literal, or a variable that holds the value."""
        value = self._plain(name, taker.type)
        if self.random.random() < 0.5:
            return literal(value)
        label = f"v{len(self._variables)}"
        declared = "String" if self._harms(0.2) else str(taker.type)
        self._variables[label] = (declared, unwrapped(value))
        return f"${label}"

    def _plain(self, name: str, type_: Any) -> Any:
        if self._harms(0.5):
            return hostile(self.random)
        if not isinstance(type_, GraphQLNonNull) and self.random.random() < 0.05:
            return None
        type_ = get_nullable_type(type_)
        if isinstance(type_, GraphQLList):
            count = self.random.choice((0, 1, 1, 2, 2, 3, 5))
            return [self._plain(name, type_.of_type) for _ in range(count)]
        if isinstance(type_, GraphQLEnumType):
            return Raw(self.random.choice(list(type_.values)))
        if isinstance(type_, GraphQLInputObjectType):
            return self._object(type_)
        return scalar(type_.name, name, self.random, self.known)

    def _object(self, type_: GraphQLInputObjectType) -> dict[str, Any]:
        fields = type_.fields
        if type_.is_one_of:
            names = [self.random.choice(list(fields))]
            return {name: self._plain(name, GraphQLNonNull(fields[name].type)) for name in names}
        needed: Callable[[Any], bool] = lambda f: isinstance(f.type, GraphQLNonNull)  # noqa: E731
        return {
            name: self._plain(name, each.type)
            for name, each in fields.items()
            if needed(each) or self.random.random() < 0.3
        }


def unwrapped(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, Raw):
        return value.name
    if isinstance(value, list):
        return [unwrapped(each) for each in value]
    if isinstance(value, dict):
        return {name: unwrapped(each) for name, each in value.items()}
    return value
