"""What the client sends and names is what the schema knows."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from graphql import GraphQLSchema, build_schema, parse, validate

from retrograph.client import documents, values
from retrograph.client.errors import BY_CODE, ApiError, error_of, failure_of
from retrograph.rules import checkpoint_errors
from retrograph.rules import errors as rules
from tests.baseline import SCHEMA


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return build_schema(SCHEMA.read_text())


@pytest.mark.parametrize("number", range(len(documents.ALL)))
def test_every_document_is_valid(schema: GraphQLSchema, number: int) -> None:
    assert validate(schema, parse(documents.ALL[number])) == []


def test_all_documents_are_examined() -> None:
    named = {text for name, text in vars(documents).items() if name.isupper() and name != "ALL"}
    assert {text for text in named if not text.strip().startswith("fragment")} == set(documents.ALL)


@pytest.mark.parametrize(
    "name", ["Validity", "NodeKind", "EdgeType", "RunStatus", "Outcome", "TaskStatus"]
)
def test_the_words_are_those_of_the_enums(schema: GraphQLSchema, name: str) -> None:
    held: Any = schema.type_map[name]
    assert sorted(get_args(getattr(values, name))) == sorted(held.values)


def test_the_fields_of_a_new_node_are_those_of_its_input(schema: GraphQLSchema) -> None:
    held: Any = schema.type_map["NodeInput"]
    assert sorted(values.NodeInput.__annotations__) == sorted(held.fields)


def test_every_failure_of_a_mutation_has_a_class(schema: GraphQLSchema) -> None:
    interface: Any = schema.type_map["UserError"]
    for member in schema.get_implementations(interface).objects:
        place = rules if hasattr(rules, member.name) else checkpoint_errors
        code = getattr(place, member.name).code
        kind = BY_CODE[code]
        assert kind.__name__ == member.name
        error = failure_of({"__typename": member.name, "code": code, "message": "No.", "x": 1})
        assert type(error) is kind
        assert (str(error), error.code, error.path, error.details) == ("No.", code, (), {"x": 1})


def test_an_error_of_an_unknown_code_is_still_an_error() -> None:
    error = error_of({"message": "No.", "extensions": {"code": "NEW", "path": ["a"], "x": 1}})
    assert type(error) is ApiError
    assert (error.code, error.path, error.details) == ("NEW", ("a",), {"x": 1})
    assert error_of({"message": "No."}).code == ""
