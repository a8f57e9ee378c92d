"""What an operation costs is told with its answer, and what costs too much is not executed."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import get_introspection_query, parse, validate

from retrograph.app import create_app
from retrograph.rules.limits import MAX_COST
from retrograph.schema.cost import Cost, find_prices
from retrograph.schema.limits import MAX_ITEMS
from retrograph.schema.protection import Protection
from retrograph.schema.schema import make_schema
from retrograph.storage.store import Store
from tests.memory import Memory
from tests.schema.serving import Listening, Served, serving

NODE = 'node(fleetId: 1, by: {key: "a"})'
PUT = """mutation ($input: PutNodesInput!) { putNodes(input: $input) {
    ... on NodesPut { nodes { id evidence { uri } } } ... on UserError { code } } }"""

CLAIM = """mutation { claimRevalidations(input: {fleetId: 1, worker: "w"%s}) {
    ... on RevalidationsClaimed { tasks { id status } } } }"""


def cost(query: str, name: str | None = None, **variables: Any) -> Cost:
    schema, document = make_schema()._schema, parse(query)
    assert validate(schema, document) == []
    return find_prices(schema, document).cost(name, variables)


@pytest.mark.parametrize(
    ("query", "points"),
    [
        ("{ __typename }", 1),
        ("{ viewer { tenantId roles } }", 1 + 2),
        ("{ nodes(fleetId: 1) { asOf } }", 1 + 50),
        ("{ nodes(fleetId: 1, first: 7) { nodes { id key } } }", 1 + 7 * (1 + 2)),
        ("{ nodes(fleetId: 1, first: 7) { edges { node { id } } } }", 1 + 7 * (1 + 1 + 1)),
        (f"{{ {NODE} {{ evidence {{ uri note }} }} }}", 1 + (1 + 10 * 2)),
        (f"{{ {NODE} {{ dependents {{ truncated }} }} }}", 1 + (3 + 100)),
        (f"{{ {NODE} {{ dependents(maxDepth: 9, first: 2) {{ truncated }} }} }}", 1 + (9 + 2)),
        (f"{{ {NODE} {{ staleness {{ path(limit: 4) {{ id key }} }} }} }}", 1 + (1 + (1 + 4 * 2))),
        ("{ invalidationRun(fleetId: 1, id: 1) { impacts(first: 3) { nodes { path } } } }",
         1 + (1 + 3 * (1 + (1 + 100 // 10)))),
        ('{ previewInvalidation(fleetId: 1, root: {key: "a"}) { planHash } }', 1_000 + 1),
        ("{ viewer { ...v ...v } } fragment v on Viewer { tenantId }", 1 + 2),
        ("{ nodes(fleetId: 1, first: 3) { ... @skip(if: true) { asOf } } }", 1 + 3),
        ("{ nodes(fleetId: 1, first: 99999) { asOf } }", 1 + 1_000),
        ("{ nodes(fleetId: 1, first: -5) { asOf } }", 1 + 1),
        (CLAIM % "", 1 + 10 * (1 + 2)),
        (CLAIM % ", limit: 7", 1 + 7 * (1 + 2)),
        ("subscription { events(fleetId: 1, types: [NODE_STALE]) { node { id } } }", 1 + 1 + 1 + 1),
    ],
)  # fmt: skip
def test_what_an_operation_costs(query: str, points: int) -> None:
    assert cost(query).points == points


@pytest.mark.parametrize(
    ("variables", "rows"),
    [({}, 5), ({"n": 7}, 7), ({"n": 7.0}, 7), ({"n": "7"}, 1), ({"n": None}, 1), ({"n": True}, 1),
     ({"n": 1e999}, 1), ({"n": 10**400}, 1), ({"n": []}, 1)],
)  # fmt: skip
def test_a_page_size_may_come_from_a_variable(variables: Any, rows: int) -> None:
    asked = "query ($n: Int! = 5) { nodes(fleetId: 1, first: $n) { asOf } }"
    assert cost(asked, **variables).points == 1 + rows


def test_a_variable_without_a_value_leaves_the_default_of_the_argument() -> None:
    asked = "query ($n: Int = 5) { nodes(fleetId: 1, first: $n) { asOf } }"
    assert cost(asked.replace(" = 5", "!")).points == 1 + 50
    assert cost(asked).points == 1 + 5


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": [{"kind": "RULE"}] * 3},
        {"nodes": [{"payload": [1] * 99}, {"payload": {"nodes": [1] * 99}}, {"x": 1}]},
    ],
)
def test_a_list_that_is_given_counts_as_its_rows(given: Any) -> None:
    asked = cost(PUT, input={"fleetId": 1, **given})
    assert asked == Cost(1 + 3 + 3 * (1 + 1 + 1 + 10 + 1), 3)
    nodes = "[{kind: RULE}, $a, {payload: [1, 2, 3, 4]}]"
    literal = PUT.replace("$input: PutNodesInput!", "$a: NodeInput!")
    literal = literal.replace("input: $input", f"input: {{fleetId: 1, nodes: {nodes}}}")
    assert cost(literal) == asked


@pytest.mark.parametrize("value", [5, "x", None, [], {"nodes": 5}, {"nodes": {"nodes": []}}, {}])
def test_what_cannot_be_costs_nothing_extra(value: Any) -> None:
    assert cost(PUT, input=value).items == 0


def test_each_operation_of_a_document_has_its_cost() -> None:
    asked = "query a { nodes(fleetId: 1) { asOf } } query b { viewer { roles } }"
    assert (cost(asked, "a").points, cost(asked, "b").points) == (51, 2)


def test_what_tools_ask_of_a_schema_is_within_the_limit() -> None:
    asked = get_introspection_query(input_value_deprecation=True, specified_by_url=True)
    assert cost(asked, "IntrospectionQuery").points < MAX_COST / 2


def test_each_answer_tells_its_cost(served: Served, chain: Memory) -> None:
    asked = "query ($n: Int!) { nodes(fleetId: 1, first: $n) { asOf } }"
    for first in (3, 4, 0):
        told = served.ask(asked, n=first).body["extensions"]["cost"]
        assert told == {"requested": 1 + max(first, 1), "limit": MAX_COST}


def test_what_costs_too_much_is_not_executed(store: Store, chain: Memory) -> None:
    with serving(create_app(store, protection=Protection(max_cost=100))) as served:
        asked = "query ($n: Int!) { nodes(fleetId: 1, first: $n) { nodes { id } } }"
        assert len(served.ask(asked, n=49).data["nodes"]["nodes"]) == 5
        answer = served.ask(asked, n=50)
        assert answer.code == "OPERATION_TOO_COMPLEX"
        assert "data" not in answer.body
        assert answer.body["extensions"]["cost"] == {"requested": 101, "limit": 100}
        before = chain.nodes()
        answer = served.ask(PUT, input={"fleetId": 1, "nodes": [{"kind": "RULE"}] * 10})
        assert answer.code == "OPERATION_TOO_COMPLEX"
        assert chain.nodes() == before


@pytest.mark.parametrize("spread", [1, 4])
def test_lists_hold_so_many_items_together(served: Served, spread: int) -> None:
    aliases = " ".join(f"a{n}: nodes(fleetId: 1, filter: $f) {{ asOf }}" for n in range(spread))
    asked = f"query ($f: NodeFilter) {{ {aliases} }}"
    answer = served.ask(asked, f={"keys": [""] * (MAX_ITEMS // spread + 1)})
    assert answer.code == "OPERATION_TOO_COMPLEX"
    assert "items" in answer.error["message"]


def test_a_socket_is_refused_the_same(server: Listening) -> None:
    asked = "query ($f: NodeFilter) { nodes(fleetId: 1, filter: $f) { asOf } }"
    with server.socket() as socket:
        socket.subscribe("q", asked, f={"keys": [""] * (MAX_ITEMS + 1)})
        message = socket.hear()
        assert (message["type"], message["id"]) == ("error", "q")
        assert message["payload"][0]["extensions"]["code"] == "OPERATION_TOO_COMPLEX"
        socket.subscribe("s", "{ viewer { tenantId } }")
        assert socket.next("s")["data"]
