"""Keyset connections: every list pages through all of its rows, at one instant."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from retrograph.rules.cursor import encode_cursor
from retrograph.rules.instant import format_instant
from tests.clock import START, ManualClock
from tests.memory import Memory
from tests.schema.serving import Served

PAGE = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor node { %s } }"
PATHS = 'paths(fleetId: 1, from: {key: "a"}, to: {key: "d"}, first: %d, after: $after)'
NODE = 'node(fleetId: 1, asOf: $at, by: {key: "%s"}) { list: %s(first: %%d, after: $after)'
PREVIEW = 'previewInvalidation(fleetId: 1, asOf: $at, root: {key: "a"}) { list: impacts'

LISTS: dict[str, tuple[str, str, int]] = {
    "nodes": ("list: nodes(fleetId: 1, first: %d, after: $after)", "id", 5),
    "edges": ("list: edges(fleetId: 1, first: %d, after: $after)", "id", 5),
    "paths": (f"list: {PATHS}", "length nodes { id }", 2),
    "changes": (
        f'list: changes(fleetId: 1, from: "{format_instant(START - 1)}", first: %d, after: $after)',
        "node { id } edge { id }",
        10,
    ),
    "runs": ("list: invalidationRuns(fleetId: 1, first: %d, after: $after)", "id", 2),
    "events": ("list: events(fleetId: 1, first: %d, after: $after)", "cursor", 5),
    "outgoing": (NODE % ("a", "outgoing"), "id", 3),
    "incoming": (NODE % ("c", "incoming"), "id", 1),
    "dependents": (NODE % ("a", "dependents"), "depth path", 4),
    "dependencies": (NODE % ("d", "dependencies"), "path", 3),
    "history": (NODE % ("d", "history"), "validFrom", 2),
    "impacts": (
        "invalidationRun(fleetId: 1, id: 2) { list: impacts(first: %d, after: $after)",
        "path",
        4,
    ),
    "preview": (f"{PREVIEW}(first: %d, after: $after)", "path", 5),
}


class Past(NamedTuple):
    """The instants before the runs and after them."""

    healthy: str
    felled: str

    def of(self, name: str) -> str | None:
        """When a list is read that takes an instant."""
        if "$at" not in LISTS[name][0]:
            return None
        return self.healthy if name == "preview" else self.felled


def find(answer: dict[str, Any]) -> dict[str, Any]:
    """The list, however deep in the data it lies."""
    found: dict[str, Any] = answer.get("list") or find(next(iter(answer.values())))
    return found


def query_of(name: str, first: int) -> str:
    field, selection, _ = LISTS[name]
    text = f"{field % first} {{ {PAGE % selection} }}"
    text += " }" * (text.count("{") - text.count("}"))
    return "query ($after: String, $at: DateTime) { " + text + " } "


@pytest.fixture
def past(memory: Memory, clock: ManualClock) -> Past:
    """A fleet with two runs."""
    memory.plant("a", "b", "c", "d", "e")
    edges = ("a REQUIRES b", "b REQUIRES c", "c REQUIRES d", "a REQUIRES e", "a DERIVED_FROM d")
    linked = memory.link(*edges).instant
    clock.advance()
    memory.fell("d")
    clock.advance()
    return Past(format_instant(linked), format_instant(memory.fell("a").as_of))


@pytest.mark.parametrize("name", LISTS)
def test_pages_give_every_row_once(served: Served, past: Past, name: str) -> None:
    at = past.of(name)
    whole = find(served.ask(with_used(query_of(name, 1000)), at=at).data)
    rows, after = [], None
    while True:
        page = find(served.ask(with_used(query_of(name, 2)), at=at, after=after).data)
        rows += page["edges"]
        assert page["pageInfo"]["hasPreviousPage"] == (after is not None)
        assert page["pageInfo"]["startCursor"] == page["edges"][0]["cursor"]
        assert page["pageInfo"]["endCursor"] == page["edges"][-1]["cursor"]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert rows == whole["edges"]
    assert len(rows) == LISTS[name][2]


def with_used(query: str) -> str:
    """The query without the variable that it doesn't use."""
    return query if query.count("$at") > 1 else query.replace(", $at: DateTime", "")


def test_an_empty_page_has_no_cursors(served: Served) -> None:
    page = served.ask(f"{{ nodes(fleetId: 1) {{ {PAGE % 'id'} }} }}").data["nodes"]
    assert page == {
        "edges": [],
        "pageInfo": {
            "hasNextPage": False, "hasPreviousPage": False, "startCursor": None, "endCursor": None,
        },
    }  # fmt: skip


NODES = """query ($after: String, $at: DateTime) {
    nodes(fleetId: 1, first: 1, after: $after, asOf: $at) {
        asOf nodes { key validity } pageInfo { endCursor } } }"""


def test_a_page_goes_on_at_the_instant_of_its_cursor(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    first = served.ask(NODES)
    cursor = first.data["nodes"]["pageInfo"]["endCursor"]
    clock.advance()
    chain.fell("a")
    second = served.ask(NODES, after=cursor)
    assert second.data["nodes"]["nodes"] == [{"key": "b", "validity": "CURRENTLY_VALID"}]
    assert second.as_of == first.as_of == {"1": first.data["nodes"]["asOf"]}
    fresh = served.ask(NODES)
    assert fresh.as_of != first.as_of
    refused = served.ask(NODES, after=cursor, at=fresh.as_of["1"])
    assert refused.code == "INVALID_CURSOR"
    assert refused.error["extensions"]["path"] == ["after"]


def test_fields_beside_a_cursor_are_read_at_its_instant(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    cursor = served.ask(NODES).data["nodes"]["pageInfo"]["endCursor"]
    clock.advance()
    chain.fell("a")
    both = """query ($after: String) { %s }"""
    fields = [
        'node(fleetId: 1, by: {key: "a"}) { validity asOf }',
        "nodes(fleetId: 1, after: $after) { asOf }",
    ]
    for order in (fields, fields[::-1]):
        answer = served.ask(both % " ".join(order), after=cursor)
        assert answer.data["node"]["validity"] == "CURRENTLY_VALID"
        assert answer.data["node"]["asOf"] == answer.data["nodes"]["asOf"] == answer.as_of["1"]


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "%%%", "ä", "W10", "bnVsbA", "A" * 9_000,
        encode_cursor("nodes:1", START, "1"),
        encode_cursor("nodes:1", START),
        encode_cursor("nodes:1", START, 1, 2),
        encode_cursor("nodes:2", START, 1),
        encode_cursor("edges:1", START, 1),
        encode_cursor("nodes:1", START - 1_000_000, 1) + "=",
        encode_cursor("nodes:1", START + 10**15, 1),
    ],
    ids=range(14),
)  # fmt: skip
def test_a_bad_cursor_is_refused(served: Served, chain: Memory, cursor: str) -> None:
    assert served.ask(NODES, after=cursor).code in {"INVALID_CURSOR", "INSTANT_IN_FUTURE"}


@pytest.mark.parametrize("name", [name for name in LISTS if name != "nodes"])
def test_a_cursor_of_another_list_is_refused(served: Served, past: Past, name: str) -> None:
    cursor = encode_cursor("nodes:1", START, 1)
    at = past.of(name)
    answer = served.ask(with_used(query_of(name, 1)), at=at, after=cursor)
    assert answer.code == "INVALID_CURSOR"


def test_a_cursor_of_another_node_is_refused(served: Served, past: Past) -> None:
    asked = """query ($k: String!, $after: String) { node(fleetId: 1, by: {key: $k}) {
        outgoing(first: 1, after: $after) { pageInfo { endCursor } } } }"""
    found = served.ask(asked, k="a").data["node"]["outgoing"]["pageInfo"]["endCursor"]
    assert served.ask(asked, k="b", after=found).code == "INVALID_CURSOR"
    assert served.ask(asked, k="a", after=found).data


def test_a_cursor_of_paths_between_others_is_refused(served: Served, past: Past) -> None:
    asked = """query ($to: String!, $after: String) {
        paths(fleetId: 1, from: {key: "a"}, to: {key: $to}, first: 1, after: $after) {
            pageInfo { endCursor } } }"""
    found = served.ask(asked, to="d").data["paths"]["pageInfo"]["endCursor"]
    assert served.ask(asked, to="c", after=found).code == "INVALID_CURSOR"


@pytest.mark.parametrize("first", [0, -1, 1001, 2**31 - 1])
@pytest.mark.parametrize("name", LISTS)
def test_a_page_has_bounds(served: Served, past: Past, name: str, first: int) -> None:
    at = past.of(name)
    answer = served.ask(with_used(query_of(name, first)), at=at)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.error["extensions"]["path"] == ["first"]
