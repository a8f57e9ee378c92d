"""A schema of everything that the projection must not get wrong, and questions to it.

It is made twice: executed as Strawberry executes, and as we do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import IntEnum
from typing import Annotated, Any

import strawberry
from hypothesis import strategies as st
from strawberry.schema.config import StrawberryConfig

from retrograph.rules.instant import LATEST
from retrograph.schema.columns import mark_columns
from retrograph.schema.projection import ProjectingExecutor
from retrograph.schema.scalars import JSON, SCALARS, DateTime


@strawberry.enum
class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Word(str):
    """A text of another type: not known exactly."""

    __slots__ = ()


@strawberry.interface
class Named:
    word: str
    number: int | None


@strawberry.type
class Leaf:
    word: str
    number: int | None
    ratio: float | None
    flag: bool
    colour: Colour | None
    ident: strawberry.ID
    when: DateTime | None
    doc: JSON | None
    tags: list[str]
    shades: list[Colour | None]


@strawberry.type
class Branch(Named):
    ratio: float
    leaf: Leaf | None
    must: Leaf
    leaves: list[Leaf | None] | None
    any: Annotated[Leaf | Branch, strawberry.union("Either")] | None
    named: Named | None

    @strawberry.field
    def resolved(self) -> Leaf | None:
        return self.leaf

    @strawberry.field
    async def awaited(self) -> list[Leaf]:
        await asyncio.sleep(0)
        return self.leaves  # type: ignore[return-value]  # some are null: an error to compare

    @strawberry.field
    def broken(self) -> int:
        raise ValueError(f"broken {self.word!r}")


Either = Annotated[Leaf | Branch, strawberry.union("Either")]


@strawberry.type
class Root:
    leaves: list[Leaf]
    gaps: list[Leaf | None] | None
    branches: list[Branch]
    either: list[Either | None]
    named: list[Named]
    one: Branch | None
    names: list[str] | None
    shades: list[Colour]


@strawberry.type
class Query:
    @strawberry.field
    def root(self, info: strawberry.Info[Root, None]) -> Root | None:
        return info.context


class _Quiet(strawberry.Schema):
    """Logs no errors: there are too many."""

    def process_errors(self, errors: Any, execution_context: Any = None) -> None:
        pass


def _schema(**how: Any) -> strawberry.Schema:
    return _Quiet(Query, types=[Branch], config=StrawberryConfig(scalar_map=SCALARS), **how)


def make_projecting(**how: Any) -> strawberry.Schema:
    schema = _schema(execution_context_class=ProjectingExecutor, **how)
    mark_columns(schema._schema)
    return schema


PLAIN = _schema()
PROJECTING = make_projecting()

_ODD = st.sampled_from(
    [
        None, "", "text", Word("w"), 0, -1, True, 2**31, 2**70, 0.5, float("nan"), float("inf"),
        Colour.RED, Colour.BLUE, "RED", 1, LATEST, LATEST + 1, b"bytes", (), [], {}, object,
        ValueError("a value that is an error"), strawberry.UNSET,
    ]
)  # fmt: skip
_SOMETIMES = 24


def _mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, _SOMETIMES).flatmap(lambda n: _ODD if n == _SOMETIMES else usual)


def _or_none(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _mostly(st.none() | usual)


_words = st.sampled_from(["", "a", "ü\n", "longer"])
_numbers = st.integers(-(2**31), 2**31 - 1)
_ratios = st.floats(0, 1)
_colours = st.sampled_from(Colour)
leaves = st.builds(
    Leaf,
    word=_mostly(_words),
    number=_or_none(_numbers),
    ratio=_or_none(_ratios),
    flag=_mostly(st.booleans()),
    colour=_or_none(_colours),
    ident=_mostly(st.integers() | _words),
    when=_or_none(st.integers(0, LATEST)),
    doc=_or_none(st.sampled_from(['{"a":[1,null]}', "[]", "null", '"x"'])),
    tags=_mostly(st.lists(_mostly(_words), max_size=3)),
    shades=_mostly(st.lists(_or_none(_colours), max_size=3)),
)
_gaps = st.lists(st.none() | leaves, max_size=4)
branches: st.SearchStrategy[Branch] = st.deferred(
    lambda: st.builds(
        Branch,
        word=_mostly(_words),
        number=_or_none(_numbers),
        ratio=_mostly(_ratios),
        leaf=_or_none(leaves),
        must=_mostly(leaves),
        leaves=_or_none(_gaps),
        any=_or_none(leaves),
        named=_or_none(st.none() | branches),
    )
)
roots = st.builds(
    Root,
    leaves=_mostly(st.lists(_mostly(leaves), max_size=5)),
    gaps=_or_none(_gaps),
    branches=_mostly(st.lists(_mostly(branches), max_size=4)),
    either=_mostly(st.lists(_or_none(leaves | branches), max_size=4)),
    named=st.lists(branches, max_size=3),
    one=_or_none(branches),
    names=_or_none(st.lists(_mostly(_words), max_size=3)),
    shades=_mostly(st.lists(_mostly(_colours), max_size=3)),
)

LEAVES = "word number ratio flag colour ident when doc tags shades __typename"
_INSIDE: dict[str, dict[str, str | None]] = {
    "Leaf": dict.fromkeys(LEAVES.split()),
    "Named": dict.fromkeys(("word", "number", "__typename")),
    "Either": {"__typename": None},
    "Branch": dict.fromkeys(("word", "number", "broken", "__typename"))
    | {"leaf": "Leaf", "must": "Leaf", "leaves": "Leaf", "any": "Either", "named": "Named"}
    | {"resolved": "Leaf", "awaited": "Leaf"},
    "Root": {"names": None, "shades": None, "leaves": "Leaf", "gaps": "Leaf", "one": "Branch"}
    | {"branches": "Branch", "either": "Either", "named": "Named"},
}
"""Fields by type, with the type of what is inside them; None for leaves."""
_UNDER = {"Named": ("Named", "Branch"), "Either": ("Leaf", "Branch")}
_MARKS = ("", "", "", "", " @include(if: $yes)", " @skip(if: $yes)", " @include(if: $no)")


@st.composite
def selections(draw: st.DrawFn, kind: str, depth: int = 4) -> str:
    """What is asked of a type: fields with aliases and directives, spreads, fragments inside."""
    fields = {name: kind for name, kind in _INSIDE[kind].items() if depth or kind is None}
    parts = []
    for name in draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=6)):
        alias = draw(st.sampled_from(["", "", f"x_{name.strip('_')}: "]))
        inside = fields[name]
        more = "" if inside is None else f" {{ {draw(selections(inside, depth - 1))} }}"
        parts.append(f"{alias}{name}{draw(st.sampled_from(_MARKS))}{more}")
    for _ in range(draw(st.integers(0, 2)) if depth else 0):
        under = draw(st.sampled_from(_UNDER.get(kind, (kind,))))
        mark = draw(st.sampled_from(_MARKS))
        if draw(st.booleans()):
            parts.append(f"... on {under}{mark} {{ {draw(selections(under, depth - 1))} }}")
        elif under in FRAGMENTS:
            parts.append(f"...Of{under}{mark}")
    return " ".join(draw(st.permutations(parts)))


FRAGMENTS = {
    "Leaf": "fragment OfLeaf on Leaf { number x_word: word ident tags }",
    "Branch": "fragment OfBranch on Branch { leaf { ...OfLeaf doc } number }",
    "Named": "fragment OfNamed on Named { word ... on Branch { must { ratio } } }",
}


def _used(text: str) -> Iterator[str]:
    """The fragments that a text spreads, those that they spread too."""
    found = {name for name in FRAGMENTS if f"...Of{name}" in text}
    if "Branch" in found:
        found.add("Leaf")
    return (FRAGMENTS[name] for name in sorted(found))


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A query with two variables, `yes` and `no`."""
    text = draw(selections("Root"))
    query = f"""query($yes: Boolean!, $no: Boolean!) {{
        none: root @skip(if: $yes) {{ __typename }} root {{ {text} }}
        some: root @include(if: $no) {{ __typename }}
    }}"""
    return " ".join((query, *_used(text)))
