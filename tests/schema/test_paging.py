"""Keyset connections: every list pages through all of its rows, at one instant."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import orjson
import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.cursor import encode_cursor
from retrograph.rules.instant import format_instant
from retrograph.storage.store import Store
from tests.clock import START, ManualClock
from tests.memory import Memory
from tests.schema.serving import Answer, Served, serving

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
    """A served fleet, and the instants before its runs and after them."""

    ask: Callable[..., Answer]
    clock: ManualClock
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


@pytest.fixture(scope="module")
def past(shared_store: Store, shared_clock: ManualClock) -> Iterator[Past]:
    """A fleet with two runs, which is only read."""
    memory = Memory(Scope(shared_store, 1, None, frozenset(Role)))
    memory.plant("a", "b", "c", "d", "e")
    edges = ("a REQUIRES b", "b REQUIRES c", "c REQUIRES d", "a REQUIRES e", "a DERIVED_FROM d")
    linked = memory.link(*edges).instant
    shared_clock.advance()
    memory.fell("d")
    shared_clock.advance()
    felled = memory.fell("a").as_of
    with serving(create_app(shared_store)) as served:
        yield Past(served.ask, shared_clock, format_instant(linked), format_instant(felled))


@pytest.mark.parametrize("name", LISTS)
def test_pages_give_every_row_once(past: Past, name: str) -> None:
    at = past.of(name)
    whole = find(past.ask(with_used(query_of(name, 1000)), at=at).data)
    rows, after = [], None
    while True:
        page = find(past.ask(with_used(query_of(name, 2)), at=at, after=after).data)
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


@pytest.mark.parametrize("cursor", ["", "x", "%%%", "ä", "W10", "bnVsbA", "A" * 9_000])
def test_garbage_is_refused(served: Served, chain: Memory, cursor: str) -> None:
    assert served.ask(NODES, after=cursor).code == "INVALID_CURSOR"


def parts(cursor: str) -> tuple[str, int, list[int]]:
    """The name of a cursor's list, its instant and its position."""
    name, at, *position = orjson.loads(base64.urlsafe_b64decode(cursor + "=="))
    return name, at, position


@pytest.mark.parametrize(
    "forge",
    [
        lambda name, at: encode_cursor(name, at, "1"),
        encode_cursor,
        lambda name, at: encode_cursor(name, at, 1, 2),
        lambda name, at: encode_cursor(name.replace(":1:", ":2:"), at, 1),
        lambda name, at: encode_cursor(name.replace("nodes", "edges"), at, 1),
        lambda name, at: encode_cursor(name[:-1], at, 1),
        lambda name, at: encode_cursor(name, at - 1, 1) + "=",
    ],
)
def test_a_forged_cursor_is_refused(
    served: Served, chain: Memory, forge: Callable[[str, int], str]
) -> None:
    name, at, position = parts(served.ask(NODES).data["nodes"]["pageInfo"]["endCursor"])
    assert served.ask(NODES, after=encode_cursor(name, at, *position)).data
    assert served.ask(NODES, after=forge(name, at)).code == "INVALID_CURSOR"


@pytest.mark.parametrize("ahead", [1, 2_000_000, 10**15])
@pytest.mark.parametrize("name", LISTS)
def test_a_cursor_of_the_future_is_refused(past: Past, name: str, ahead: int) -> None:
    """Whether it lies between the last commit and now, or beyond now; nothing is read at it."""
    at = past.of(name)
    found = find(past.ask(with_used(query_of(name, 1)), at=at).data)["pageInfo"]["endCursor"]
    last = past.clock.now
    past.clock.advance()
    answer = past.ask(with_used(query_of(name, 1)), at=at, after=moved(found, last + ahead))
    assert answer.code == "INVALID_CURSOR"
    assert answer.error["extensions"]["path"] == ["after"]
    assert set(answer.as_of.values()) <= {past.felled}


def moved(cursor: str, instant: int) -> str:
    """The cursor with another instant."""
    if cursor.replace("-", "").isdigit():
        return f"{instant}-{cursor.split('-')[1]}"
    name, _, position = parts(cursor)
    return encode_cursor(name, instant, *position)


def test_a_cursor_of_the_future_is_not_heeded_by_the_fields_beside_it(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    first = served.ask(NODES)
    good = first.data["nodes"]["pageInfo"]["endCursor"]
    clock.advance()
    chain.fell("a")
    both = """query ($bad: String, $good: String) {
        bad: nodes(fleetId: 1, first: 1, after: $bad) { asOf }
        good: nodes(fleetId: 1, first: 1, after: $good) { asOf } }"""
    answer = served.ask(both, bad=moved(good, clock.now + 10**15), good=good)
    assert answer.code == "INVALID_CURSOR"
    assert answer.as_of == first.as_of
    alone = served.ask(NODES, after=moved(good, clock.now + 10**15))
    assert alone.as_of == served.ask(NODES).as_of


@pytest.mark.parametrize("name", [name for name in LISTS if name != "nodes"])
def test_a_cursor_of_another_list_is_refused(past: Past, name: str) -> None:
    cursor = past.ask(NODES).data["nodes"]["pageInfo"]["endCursor"]
    at = past.of(name)
    answer = past.ask(with_used(query_of(name, 1)), at=at, after=cursor)
    assert answer.code == "INVALID_CURSOR"


OTHERS: list[tuple[str, str, str]] = [
    ("nodes", "first", "filter: {validity: [INVALID]}, first"),
    ("nodes", "first", 'filter: {keyPrefix: "a"}, first'),
    ("nodes", "first", "filter: {ids: [1, 2]}, first"),
    ("edges", "first", "filter: {type: [REQUIRES]}, first"),
    ("edges", "first", 'filter: {source: {key: "a"}}, first'),
    ("runs", "first", 'filter: {reason: "wrong"}, first'),
    ("paths", "first", "maxDepth: 3, first"),
    ("paths", "first", "types: [REQUIRES], first"),
    ("paths", '"a"', '"b"'),
    ("changes", format_instant(START - 1), format_instant(START - 2)),
    ("outgoing", "first", "types: [REQUIRES], first"),
    ("incoming", "first", "types: [REQUIRES], first"),
    ("dependents", "first", "maxDepth: 2, first"),
    ("dependencies", "first", "maxDepth: 2, first"),
    ("history", '"d"', '"c"'),
    ("impacts", "first", "kind: CHANGED, first"),
    ("impacts", "id: 2", "id: 1"),
    ("preview", "first", "kind: CHANGED, first"),
    ("preview", 'root: {key: "a"}', 'effect: POTENTIALLY_STALE, root: {key: "a"}'),
    ("preview", '"a"', '"b"'),
]


@pytest.mark.parametrize(("name", "old", "new"), OTHERS)
def test_a_cursor_of_other_arguments_is_refused(past: Past, name: str, old: str, new: str) -> None:
    at = past.of(name)
    query = with_used(query_of(name, 1))
    cursor = find(past.ask(query, at=at).data)["pageInfo"]["endCursor"]
    assert find(past.ask(query, at=at, after=cursor).data)
    assert query.count(old) == 1
    answer = past.ask(query.replace(old, new), at=at, after=cursor)
    assert answer.code == "INVALID_CURSOR"


def test_the_order_and_the_number_of_equal_arguments_do_not_matter(past: Past) -> None:
    asked = """query ($validity: [Validity!], $after: String) {
        nodes(fleetId: 1, filter: {validity: $validity}, first: 1, after: $after) {
            pageInfo { endCursor } } }"""
    found = past.ask(asked, validity=["INVALID", "CURRENTLY_VALID"]).data["nodes"]["pageInfo"]
    for same in (["CURRENTLY_VALID", "INVALID"], ["INVALID", "CURRENTLY_VALID", "INVALID"]):
        assert past.ask(asked, validity=same, after=found["endCursor"]).data


def test_a_preview_from_another_node_of_a_circle_is_another_list(
    served: Served, memory: Memory
) -> None:
    """Both fell the same nodes, by the same plan, but in another order."""
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b", "b REQUIRES c", "c REQUIRES a")
    asked = """query ($key: String!, $after: String) {
        previewInvalidation(fleetId: 1, root: {key: $key}) {
            planHash impacts(first: 1, after: $after) { pageInfo { endCursor } } } }"""
    first, other = (served.ask(asked, key=k).data["previewInvalidation"] for k in "ab")
    assert first["planHash"] == other["planHash"]
    cursor = first["impacts"]["pageInfo"]["endCursor"]
    assert served.ask(asked, key="a", after=cursor).data
    assert served.ask(asked, key="b", after=cursor).code == "INVALID_CURSOR"


def test_a_cursor_of_another_node_is_refused(past: Past) -> None:
    asked = """query ($k: String!, $after: String) { node(fleetId: 1, by: {key: $k}) {
        outgoing(first: 1, after: $after) { pageInfo { endCursor } } } }"""
    found = past.ask(asked, k="a").data["node"]["outgoing"]["pageInfo"]["endCursor"]
    assert past.ask(asked, k="b", after=found).code == "INVALID_CURSOR"
    assert past.ask(asked, k="a", after=found).data


def test_a_cursor_of_paths_between_others_is_refused(past: Past) -> None:
    asked = """query ($to: String!, $after: String) {
        paths(fleetId: 1, from: {key: "a"}, to: {key: $to}, first: 1, after: $after) {
            pageInfo { endCursor } } }"""
    found = past.ask(asked, to="d").data["paths"]["pageInfo"]["endCursor"]
    assert past.ask(asked, to="c", after=found).code == "INVALID_CURSOR"


@pytest.mark.parametrize("first", [0, -1, 1001, 2**31 - 1])
@pytest.mark.parametrize("name", LISTS)
def test_a_page_has_bounds(past: Past, name: str, first: int) -> None:
    at = past.of(name)
    answer = past.ask(with_used(query_of(name, first)), at=at)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.error["extensions"]["path"] == ["first"]
