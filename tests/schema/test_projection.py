"""Answers of the projection equal those of the plain path, errors and order included."""

from __future__ import annotations

import asyncio
import gc
import math
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import strawberry
from graphql import GraphQLObjectType, get_named_type, is_leaf_type
from hypothesis import given, settings
from strawberry.extensions import SchemaExtension

from retrograph.schema.columns import column_of
from retrograph.schema.projection import ProjectingExecutor, Selection
from retrograph.schema.schema import make_schema
from retrograph.schema.wire import write_json
from tests.schema.projected import (
    LEAVES,
    PLAIN,
    PROJECTING,
    Branch,
    Colour,
    Leaf,
    Root,
    documents,
    make_projecting,
    roots,
)

# Where an error takes the place of a list, graphql-core drops what it has begun to await in it.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

YES = {"yes": True, "no": False}


@pytest.fixture(scope="module", autouse=True)
def _dropped() -> Iterator[None]:
    """Lets what was dropped go here, and not in the middle of another file's test."""
    yield
    gc.collect()


def leaf(**given: Any) -> Leaf:
    usual: dict[str, Any] = {
        "word": "w", "number": 1, "ratio": 0.5, "flag": True, "colour": Colour.RED, "ident": 1,
        "when": 0, "doc": "[1]", "tags": ["t"], "shades": [Colour.BLUE, None],
    }  # fmt: skip
    return Leaf(**(usual | given))


def branch(**given: Any) -> Branch:
    usual: dict[str, Any] = {
        "word": "b", "number": None, "ratio": 0.1, "leaf": leaf(), "must": leaf(), "leaves": None,
        "any": None, "named": None,
    }  # fmt: skip
    return Branch(**(usual | given))


def root(*leaves: Any, **given: Any) -> Root:
    usual: dict[str, Any] = {
        "leaves": list(leaves), "gaps": None, "branches": [], "either": [], "named": [],
        "one": None, "names": None, "shades": [],
    }  # fmt: skip
    return Root(**(usual | given))


def ask(schema: strawberry.Schema, query: str, value: Root) -> str:
    """The response as it goes out, and its errors with their places."""
    asked = schema.execute(
        query, variable_values=YES if "$yes" in query else None, context_value=value
    )
    result = asyncio.run(asked)
    errors = [error.formatted for error in result.errors or ()]
    return write_json({"data": result.data, "errors": errors}).decode()


@settings(max_examples=25, deadline=None)
@given(documents(), roots)
def test_an_answer_is_the_same_on_both_paths(query: str, value: Root) -> None:
    assert ask(PROJECTING, query, value) == ask(PLAIN, query, value)


@pytest.mark.long
@settings(max_examples=1_000, deadline=None)
@given(documents(), roots)
def test_thousands_of_answers_are_the_same_on_both_paths(query: str, value: Root) -> None:
    assert ask(PROJECTING, query, value) == ask(PLAIN, query, value)


@pytest.mark.parametrize(
    "odd",
    [
        {}, {"word": None}, {"ratio": math.nan}, {"ratio": math.inf}, {"number": 2**31},
        {"number": True}, {"ident": True}, {"ident": 2**70}, {"colour": 2}, {"colour": "RED"},
        {"when": 2**62}, {"doc": None}, {"doc": {"a": 1}}, {"tags": None}, {"tags": ("a",)},
        {"tags": [None]}, {"shades": [Colour.RED, 9]}, {"word": ValueError("no")}, {"flag": None},
    ],
    ids=str,
)  # fmt: skip
def test_one_odd_value_among_many_is_told_where_it_is(odd: dict[str, Any]) -> None:
    query = f"{{ root {{ leaves {{ {LEAVES} }} }} }}"
    value = root(leaf(), leaf(**odd), leaf())
    assert ask(PROJECTING, query, value) == ask(PLAIN, query, value)


@pytest.mark.parametrize("item", [None, ValueError("no"), strawberry.UNSET, {}, 5], ids=repr)
def test_an_odd_item_of_a_list_is_told_where_it_is(item: Any) -> None:
    value = root(leaf(), item, leaf(), gaps=[leaf(), item, leaf()])
    for query in ("{ root { leaves { __typename } } }", "{ root { gaps { word __typename } } }"):
        assert ask(PROJECTING, query, value) == ask(PLAIN, query, value)


def test_objects_of_which_nothing_is_left_to_select_are_there() -> None:
    query = "query($yes: Boolean!) { root { leaves { word @skip(if: $yes) } } }"
    assert '"leaves":[{},{}]' in ask(PROJECTING, query, root(leaf(), leaf()))


def test_what_can_be_projected_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when the libraries no longer call what the projection replaces."""
    rows: list[int] = []
    project = Selection.rows

    def count(self: Selection, objects: Any) -> Any:
        rows.append(len(objects))
        return project(self, objects)

    monkeypatch.setattr(Selection, "rows", count)
    value = root(leaf(), leaf(), leaf(), branches=[branch(), branch()])
    inside = f"leaves {{ {LEAVES} }} branches {{ word resolved {{ word }} }}"
    ask(PROJECTING, f"{{ root {{ {inside} }} }}", value)
    assert rows == [3, 1, 1, 1, 1]


def test_the_schema_that_is_served_projects_every_plain_attribute() -> None:
    schema = make_schema()
    assert issubclass(schema.execution_context_class or object, ProjectingExecutor)
    plain = [
        f"{name}.{field}"
        for name, kind in schema._schema.type_map.items()
        if isinstance(kind, GraphQLObjectType)
        for field, held in kind.fields.items()
        if is_leaf_type(get_named_type(held.type))
        and getattr(held.resolve, "_is_default", False)
        and column_of(held) is None
    ]
    assert plain == []


def test_resolvers_that_an_extension_wraps_are_called_for_every_field() -> None:
    class Loud(SchemaExtension):
        def resolve(self, _next: Any, root: Any, info: Any, *args: Any, **kwargs: Any) -> Any:
            found = _next(root, info, *args, **kwargs)
            return found.upper() if isinstance(found, str) else found

    loud = make_projecting(extensions=[Loud])
    assert '"W"' in ask(loud, "{ root { leaves { word } } }", root(leaf(), leaf()))


async def _later() -> Leaf:
    return leaf()


def test_items_that_are_awaited_are_left_to_the_plain_path() -> None:
    query = f"{{ root {{ leaves {{ {LEAVES} }} }} }}"
    assert ask(PROJECTING, query, root(_later(), leaf())) == ask(PLAIN, query, root(leaf(), leaf()))


@strawberry.type
class Late:
    @strawberry.field
    async def word(self) -> str:
        return "late"

    @strawberry.field
    async def deeper(self) -> Late:
        return Late()


@strawberry.type
class Hasty:
    @strawberry.field
    async def fails(self) -> int:
        raise ValueError("before its siblings have begun")

    @strawberry.field
    async def late(self) -> Late:
        return Late()


def test_what_a_failure_cancels_before_it_begins_leaves_no_coroutine_behind() -> None:
    schema = strawberry.Schema(Hasty, execution_context_class=ProjectingExecutor)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asked = "{ fails late { word deeper { word deeper { word deeper { word } } } } }"
        assert asyncio.run(schema.execute(asked)).errors
        gc.collect()
    assert [str(each.message) for each in told] == []
