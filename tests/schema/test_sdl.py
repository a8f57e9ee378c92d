"""The schema's text: committed, sorted, described, and by the names that clients count on."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    get_introspection_query,
    lexicographic_sort_schema,
    parse,
    print_schema,
)

from retrograph.schema.limits import check_document
from retrograph.schema.schema import sdl
from tests.schema.serving import Served
from tests.shared import ROOT, shared


@pytest.fixture(scope="module")
def built() -> GraphQLSchema:
    return build_schema(sdl())


def test_the_committed_schema_is_the_one_that_is_served() -> None:
    assert (ROOT / "schema" / "schema.graphql").read_text() == sdl(), "run `retrograph sdl`"


def test_it_is_sorted(built: GraphQLSchema) -> None:
    assert print_schema(lexicographic_sort_schema(built)) == print_schema(built)


def described(schema: GraphQLSchema) -> dict[str, str | None]:
    """The description of everything that can have one."""
    found: dict[str, Any] = {}
    for name, each in schema.type_map.items():
        if name.startswith("__") or name in {"ID", "String", "Int", "Float", "Boolean"}:
            continue
        found[name] = each
        if isinstance(each, GraphQLEnumType):
            found |= {f"{name}.{value}": held for value, held in each.values.items()}
        if isinstance(each, GraphQLInputObjectType | GraphQLObjectType | GraphQLInterfaceType):
            found |= {f"{name}.{field}": held for field, held in each.fields.items()}
        if isinstance(each, GraphQLObjectType):
            for field, held in each.fields.items():
                found |= {f"{name}.{field}({arg})": taken for arg, taken in held.args.items()}
    return {name: each.description for name, each in found.items()}


def test_everything_is_described(built: GraphQLSchema) -> None:
    texts = described(built)
    assert [name for name, text in texts.items() if not text] == []
    assert [name for name, text in texts.items() if text and not text.endswith(".")] == []


PRESENT = (
    "Query", "Mutation", "Subscription", "NodeRef", "NodeFilter", "EdgeFilter", "MemoryNode",
    "MemoryEdge", "Evidence", "Reached", "DependencyPath", "Neighbourhood", "Staleness",
    "InvalidationRun", "Impact", "InvalidationPreview", "InvalidateInput", "NodeInput",
    "PutNodesInput", "EdgeInput", "LinkNodesInput", "UnlinkNodesInput", "PinNodeInput",
    "AddEvidenceInput", "SupersedeInput", "Event", "Viewer", "UserError", "RepairNodeInput",
    "ClaimRevalidationsInput", "CompleteRevalidationInput", "RevalidationTask",
    "CommitCheckpointInput", "CheckpointCommitted", "CheckpointConflict", "Checkpoint",
)  # fmt: skip


@cache
def contract() -> GraphQLSchema:
    """The draft, with the types that it leaves to the reader stood in for."""
    text = shared("design/schema.graphql").read_text()
    known = {
        definition.name.value
        for definition in parse(text).definitions
        if hasattr(definition, "name")
    }
    wanted = {
        node.value
        for definition in parse(text).definitions
        for node in names_in(definition)
        if node.value not in known
    } - {"ID", "String", "Int", "Float", "Boolean", "DateTime"}
    inputs = {name for name in wanted if name.endswith(("Input", "Filter"))}
    text += "".join(f"\ninput {name} {{ x: ID }}" for name in sorted(inputs))
    text += "".join(f"\ntype {name} {{ x: ID }}" for name in sorted(wanted - inputs))
    return build_schema(text, assume_valid=True)


def names_in(node: Any) -> list[Any]:
    """The names of the types that a definition refers to."""
    if isinstance(node, list | tuple):
        return [name for each in node for name in names_in(each)]
    if not hasattr(node, "kind"):
        return []
    if node.kind == "named_type":
        return [node.name]
    return [name for key in node.keys for name in names_in(getattr(node, key, None))]


@pytest.mark.skipif(
    not shared("design/schema.graphql").exists(), reason="the contract lies beside the checkout"
)
@pytest.mark.parametrize("name", PRESENT)
def test_the_contract_is_kept(built: GraphQLSchema, name: str) -> None:
    promised: Any = contract().type_map[name]
    given: Any = built.type_map[name]
    for field, wanted in promised.fields.items():
        assert str(given.fields[field].type) == str(wanted.type), field
        for arg, taken in getattr(wanted, "args", {}).items():
            have = given.fields[field].args[arg]
            assert str(have.type) == str(taken.type), (field, arg)
            assert have.default_value == taken.default_value, (field, arg)


@pytest.mark.parametrize(
    "name",
    [
        "Validity",
        "EdgeType",
        "NodeKind",
        "ImpactKind",
        "RunStatus",
        "Direction",
        "OnChange",
        "Role",
        "TaskStatus",
        "Outcome",
    ],
)
def test_the_enums_are_those_of_the_contract(built: GraphQLSchema, name: str) -> None:
    promised: Any = contract().type_map[name]
    given: Any = built.type_map[name]
    assert set(given.values) == set(promised.values)


def test_events_tell_more_than_the_contract(built: GraphQLSchema) -> None:
    promised: Any = contract().type_map["EventType"]
    given: Any = built.type_map["EventType"]
    more = {"EPISODES_MERGED", "EPISODES_RETIRED"}
    assert set(given.values) == set(promised.values) | more


def test_introspection_is_within_the_limits(served: Served) -> None:
    query = get_introspection_query(
        specified_by_url=True,
        directive_is_repeatable=True,
        schema_description=True,
        input_value_deprecation=True,
    )
    assert check_document(parse(query)) is None
    names = {each["name"] for each in served.ask(query).data["__schema"]["types"]}
    assert set(PRESENT) <= names
