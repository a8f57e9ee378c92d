"""Documents are measured before they are validated; each fragment counts once."""

from __future__ import annotations

import pytest
from graphql import parse
from graphql.language.parser import MAX_NESTING_DEPTH

from retrograph.rules.canonical_json import MAX_NESTING
from retrograph.schema.limits import (
    MAX_ALIKE,
    MAX_DEPTH,
    MAX_ERRORS,
    MAX_FRAGMENTS,
    MAX_SELECTIONS,
    MAX_TOKENS,
    check_document,
)
from retrograph.schema.wire import MAX_LEVELS
from tests.schema.bombs import doubling, many, put
from tests.schema.serving import Served


def deep(levels: int) -> str:
    return "{ " + "a { " * (levels - 1) + "a" + " }" * levels


def fields(count: int) -> str:
    return "{ a { " + many(count - 1, "a%d ") + "} }"


def chained(fragments: int, around: str = "%s") -> str:
    """Each fragment spreads the next; what is `around` the spread holds it."""
    rest = [f"fragment f{n} on Q {{ {around % f'...f{n + 1}'} }}" for n in range(fragments)]
    return "\n".join(["{ ...f0 }", *rest, f"fragment f{fragments} on Q {{ a }}"])


@pytest.mark.parametrize(
    "document",
    [
        deep(MAX_DEPTH),
        fields(MAX_SELECTIONS),
        doubling(6),
        chained(MAX_FRAGMENTS - 2),
        "{ ...a } fragment a on Q { ...b } fragment b on Q { ...a x }",
        "{ ...unknown }",
        "{ ...a } fragment a on Q { x { ...a ...a } }",
        "{ " + "a { b } " * MAX_ALIKE + "}",
        "{ a { " + "...f " * 200 + "} } fragment f on Q { b }",
        "{ ... on Q { ... { a } } }",
    ],
)
def test_what_is_within_the_limits_passes(document: str) -> None:
    assert check_document(parse(document)) is None


@pytest.mark.parametrize(
    "document",
    [
        deep(MAX_DEPTH + 1),
        fields(MAX_SELECTIONS + 1),
        "{ a { " + "b " * (MAX_ALIKE + 1) + "} }",
        "{ " + ("a { " + "b " * (MAX_ALIKE // 2) + "} ") * 3 + "}",
        "{ ...f ...g } " + "".join(f"fragment {n} on Q {{ {'b ' * 30} }} " for n in "fg"),
        "{ a } fragment unused on Q { " + "... { b: a } " * (MAX_ALIKE + 1) + "}",
        "{ ...a } fragment a on Q { " + many(9, "x%d { ...a } ") + "}",
        doubling(9),
        doubling(99),
        doubling(500),
        chained(500),
        "\n".join(reversed(chained(500).splitlines())),
        chained(90, "... { ... { ... { ... { %s } } } }"),
        f"{deep(MAX_DEPTH)} fragment unused on Q {deep(MAX_DEPTH + 1)}",
        "{ a } query B " + deep(MAX_DEPTH + 1),
        "{ a { ...f } } fragment f on Q " + deep(MAX_DEPTH),
        "{ ... { ... on Q " + deep(MAX_DEPTH + 1) + " } }",
    ],
)
def test_what_exceeds_a_limit_is_refused(document: str) -> None:
    error = check_document(parse(document))
    assert error is not None
    assert error.extensions == {"code": "OPERATION_TOO_COMPLEX"}


@pytest.mark.parametrize(
    "document",
    [
        deep(MAX_DEPTH + 1),
        fields(MAX_SELECTIONS + 1),
        "{ viewer " + "@skip(if: true) " * MAX_TOKENS + " { roles } }",
        "{ a " * 2_000,
        put("[" * 2_000 + "]" * 2_000),
    ],
)
def test_a_refusal_is_typed(served: Served, document: str) -> None:
    for _ in range(2):  # what is refused is not remembered as valid
        assert served.ask(document).code == "OPERATION_TOO_COMPLEX"


def test_only_the_first_mistakes_are_told(served: Served) -> None:
    unknown = "{ " + many(40, "x%d ") + "}"
    filtered = "query ($f: NodeFilter) { nodes(fleetId: 1, filter: $f) { asOf } }"
    for answer in (served.ask(unknown), served.ask(filtered, f={"ids": [{}] * 40})):
        assert len(answer.body["errors"]) == MAX_ERRORS + 1
        assert "limit reached" in answer.body["errors"][-1]["message"]


def test_what_a_client_repeats_is_answered_anew(served: Served) -> None:
    asked = "query ($first: Int!) { nodes(fleetId: 1, first: $first) { asOf } }"
    put = "mutation { putNodes(input: {fleetId: 1, nodes: [{kind: RULE}]}) { __typename } }"
    first = served.ask(asked, first=1)
    assert served.ask(asked, first=0).code == "BAD_USER_INPUT"
    served.ask(put)
    assert served.ask(asked, first=1).as_of != first.as_of


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ('node(fleetId: 1, by: {key: "a"}) { dependents(maxDepth: %d) { truncated } }', (0, 65)),
        ('node(fleetId: 1, by: {key: "a"}) { dependencies(maxDepth: %d) { truncated } }', (0, 65)),
        (
            'paths(fleetId: 1, from: {key: "a"}, to: {key: "b"}, maxDepth: %d) { truncated }',
            (0, 21),
        ),
        ('neighbourhood(fleetId: 1, roots: [{key: "a"}], maxDepth: %d) { truncated }', (-1, 65)),
    ],
)
def test_walks_have_a_greatest_depth(
    served: Served, chain: object, field: str, path: tuple[int, int]
) -> None:
    for depth in path:
        answer = served.ask("{ " + field % depth + " }")
        assert answer.code == "BAD_USER_INPUT"
        assert answer.error["extensions"]["path"] == ["maxDepth"]
    assert served.ask("{ " + field % (path[1] - 1) + " }").data


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_chain_of_causes_has_bounds(served: Served, chain: object, limit: int) -> None:
    asked = """query ($n: Int!) { previewInvalidation(fleetId: 1, root: {key: "a"}) {
        impacts(first: 1) { nodes { path(limit: $n) } } } }"""
    answer = served.ask(asked, n=limit)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.error["extensions"]["path"] == ["limit"]


PUT = """mutation ($payload: JSON) { putNodes(input: { fleetId: 1, nodes: [
    { key: "a", kind: ASSERTION, payload: $payload }] }) { ... on UserError { code message } } }"""


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_payloads_and_requests_are_nested_to_their_limits(served: Served) -> None:
    assert served.ask(PUT, payload=nested(MAX_NESTING)).data == {"putNodes": {}}
    for levels in (MAX_NESTING + 1, MAX_LEVELS - 2):  # a request and its variables are two more
        said = served.ask(PUT, payload=nested(levels)).data["putNodes"]
        assert said == {"code": "BAD_USER_INPUT", "message": "Nested deeper than 200; flatten it."}
    refused = served.ask(PUT, payload=nested(MAX_LEVELS - 1))
    assert refused.code == "BAD_REQUEST"
    assert refused.error["message"] == "The body is nested deeper than 400 levels; flatten it."


def test_documents_are_nested_to_their_limit(served: Served) -> None:
    around = 4  # the operation, its input, the list of nodes, the node
    answers = []
    for levels in (MAX_NESTING_DEPTH - around, MAX_NESTING_DEPTH - around + 1):
        inline = "[" * levels + "]" * levels
        document = PUT.replace("($payload: JSON)", "").replace("$payload", inline)
        answers.append(served.ask(document))
    assert answers[0].data == {"putNodes": {}}
    assert answers[1].code == "OPERATION_TOO_COMPLEX"
