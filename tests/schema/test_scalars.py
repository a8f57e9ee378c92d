"""Literals of the custom scalars: what GraphQL can spell and the scalar can't hold is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.serving import Answer, Served

LONG = "9" * 5_000
"""More digits than Python makes an integer of."""


def put(served: Served, literal: str, declared: str = "", **variables: Any) -> Answer:
    """Puts a node with a payload that is written into the document."""
    return served.ask(
        f"""mutation {declared} {{
            putNodes(input: {{fleetId: 1, nodes: [{{kind: ASSERTION, payload: {literal}}}]}}) {{
                ... on NodesPut {{ nodes {{ payload }} }}
                ... on UserError {{ code }} }} }}""",
        **variables,
    )


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("null", None),
        ("[]", []),
        ('{a: [1, -2.5, true, "NaN", {b: null}]}', {"a": [1, -2.5, True, "NaN", {"b": None}]}),
    ],
)
def test_a_json_literal_is_its_value(served: Served, literal: str, value: object) -> None:
    assert put(served, literal).data["putNodes"]["nodes"] == [{"payload": value}]


def test_a_variable_may_stand_in_a_json_literal(served: Served) -> None:
    answer = put(served, "{a: [$x]}", "($x: JSON)", x={"b": "NaN"})
    assert answer.data["putNodes"]["nodes"] == [{"payload": {"a": [{"b": "NaN"}]}}]


@pytest.mark.parametrize("name", ["NaN", "Infinity", "UNQUOTED", "INVALID"])
@pytest.mark.parametrize("literal", ["%s", "[1, %s]", "{a: %s}", "{a: [{b: [%s]}]}"])
def test_the_name_of_an_enum_is_no_json(served: Served, literal: str, name: str) -> None:
    answer = put(served, literal % name)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.error["message"].startswith(f"{name} is no JSON value")


@pytest.mark.parametrize("default", ["NaN", "{a: [NaN]}"])
def test_nor_is_it_as_the_default_of_a_variable(served: Served, default: str) -> None:
    assert put(served, "$x", f"($x: JSON = {default})").code == "BAD_USER_INPUT"


@pytest.mark.parametrize("literal", ["$x", "[$x]", "{a: {b: $x}}"])
def test_nor_is_it_in_a_variable(served: Served, literal: str) -> None:
    answer = put(served, literal, "($x: Validity)", x="INVALID")
    assert answer.code in {"BAD_USER_INPUT", "GRAPHQL_VALIDATION_FAILED"}
    assert answer.body.get("data") is None


@pytest.mark.parametrize("literal", ["[$x]", "{a: {b: $x}}"])
@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("DateTime", "2026-01-01T00:00:00Z"),
        ("[DateTime!]!", ["2026-01-01T00:00:00Z"]),
        ("NodeRef", {"key": "a"}),
        ("Validity", "INVALID"),
    ],
)
def test_in_a_json_literal_a_variable_has_a_type_of_json(
    served: Served, literal: str, declared: str, value: object
) -> None:
    answer = put(served, literal, f"($x: {declared})", x=value)
    assert answer.code == "GRAPHQL_VALIDATION_FAILED"
    assert "declare it as JSON" in answer.error["message"]
    assert put(served, literal, "($x: JSON)", x=value).data["putNodes"]["nodes"]


def test_a_variable_that_is_not_given_is_no_json(served: Served) -> None:
    assert put(served, "{a: $x}", "($x: JSON)").data["putNodes"] == {"code": "BAD_USER_INPUT"}


@pytest.mark.parametrize("literal", [LONG, f"-{LONG}", f"{{a: [{LONG}]}}", "1e400"])
def test_a_number_beyond_all_bounds_is_no_json(served: Served, literal: str) -> None:
    assert put(served, literal).data["putNodes"] == {"code": "BAD_USER_INPUT"}


@pytest.mark.parametrize("literal", [LONG, "NOW", "5", "[NOW]", "{a: NOW}", '"now"'])
def test_an_instant_is_a_string(served: Served, literal: str) -> None:
    answer = served.ask(f"{{ nodes(fleetId: 1, asOf: {literal}) {{ asOf }} }}")
    assert answer.code == "BAD_USER_INPUT"


def test_an_integer_of_too_many_digits_is_no_fault_of_ours(served: Served) -> None:
    answer = served.ask(f"{{ nodes(fleetId: 1, first: {LONG}) {{ asOf }} }}")
    assert answer.code == "BAD_USER_INPUT"
    assert answer.error["message"] == "A number of the document has too many digits."
