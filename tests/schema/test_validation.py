"""What doesn't fit the schema is refused before anything is executed, whatever its order."""

from __future__ import annotations

import pytest

from tests.memory import Memory
from tests.schema.serving import Served

NODE = "node(fleetId: 1, by: {key: $k}) { key }"


def test_introspection_tells_which_inputs_take_exactly_one_field(served: Served) -> None:
    answer = served.ask('{ a: __type(name: "NodeRef") { isOneOf } b: __type(name: "NodeInput") '
                        "{ isOneOf } }")  # fmt: skip
    assert answer.data == {"a": {"isOneOf": True}, "b": {"isOneOf": False}}


@pytest.mark.parametrize("ref", ["{}", "{key: null}", '{id: 1, key: "a"}'])
def test_an_input_of_one_field_is_validated(served: Served, ref: str) -> None:
    answer = served.ask(f"{{ node(fleetId: 1, by: {ref}) {{ key }} }}")
    assert answer.code == "GRAPHQL_VALIDATION_FAILED"
    assert "exactly one field" in answer.error["message"]


def test_a_fragment_may_stand_before_the_operation_whose_variable_it_uses(
    served: Served, chain: Memory
) -> None:
    fragment, operation = f"fragment f on Query {{ {NODE} }}", "query ($k: String!) { ...f }"
    for document in (f"{fragment} {operation}", f"{operation} {fragment}"):
        assert served.ask(document, k="a").data == {"node": {"key": "a"}}


def test_a_variable_that_is_not_declared_is_refused(served: Served) -> None:
    assert served.ask(f"{{ {NODE} }}").code == "GRAPHQL_VALIDATION_FAILED"


def test_null_names_no_node(served: Served, chain: Memory) -> None:
    assert served.ask(f"query ($k: String) {{ {NODE} }}", k=None).code == "BAD_USER_INPUT"
