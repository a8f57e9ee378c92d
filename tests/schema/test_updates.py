"""Who watches nodes hears of each change once, whenever it drops out and comes back."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.resolvers.updates import list_updates
from retrograph.rules.instant import format_instant
from retrograph.schema import sources
from retrograph.storage.audience import Audience
from retrograph.storage.filters import NodeFilter
from retrograph.storage.records import NodeRef
from retrograph.storage.update_records import Place
from tests.clock import ManualClock
from tests.memory import Memory
from tests.schema.serving import Listening, Socket

WATCH = """subscription ($after: String, $filter: FeedFilter) {
    snapshotThenChanges(fleetId: 1, filter: $filter, after: $after) { cursor kind at
        node { key validity pinned asOf } edge { type source { key } target { key } } } }"""
EVENTS = """subscription ($filter: FeedFilter, $after: String = "0-0") {
    events(fleetId: 1, filter: $filter, after: $after) { type node { key } } }"""

Told = dict[str, Any]


def hear(socket: Socket, count: int, id: str = "s") -> list[Told]:
    return [socket.next(id)["data"]["snapshotThenChanges"] for _ in range(count)]


def hear_snapshot(socket: Socket, id: str = "s") -> list[Told]:
    """What is told up to the end of the snapshot, which isn't given."""
    told: list[Told] = []
    while (each := hear(socket, 1, id)[0])["kind"] != "SNAPSHOT_END":
        assert each["kind"] == "PRESENT"
        told.append(each)
    return told


def thing(told: Told) -> str:
    node, edge = told["node"], told["edge"]
    return f"{edge['source']['key']}>{edge['target']['key']}" if edge else str(node["key"])


def short(told: Told) -> str:
    words = [told["kind"], thing(told)]
    return " ".join([*words, told["node"]["validity"]] if told["node"] else words)


def test_first_the_nodes_then_each_change(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        socket.subscribe("s", WATCH)
        first = hear_snapshot(socket)
        assert " ".join(thing(each) for each in first) == "a b a>b c b>c d c>d e a>e"
        assert {each["at"] for each in first} == {format_instant(chain.scope.clock(1))}
        chain.fell("d", reason="watched")
        chain.plant("new")
        linked = chain.link("new SUPPORTED_BY a")
        pin_node(chain.scope, 1, NodeRef(key="new"), pinned=True)
        unlink_nodes(chain.scope, 1, [linked.edges[0].id])
        told = hear(socket, 5)
    assert [short(each) for each in told] == [
        "CHANGED d INVALID",
        "ENTERED new CURRENTLY_VALID",
        "ENTERED new>a",
        "CHANGED new CURRENTLY_VALID",
        "LEFT new>a",
    ]
    assert all(each["node"]["asOf"] == each["at"] for each in told if each["node"])
    assert told[3]["node"]["pinned"]


def test_filters_narrow_both_phases(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        socket.subscribe("s", WATCH, filter={"validity": ["CURRENTLY_VALID"], "keys": ["d", "a"]})
        assert [thing(each) for each in hear_snapshot(socket)] == ["a", "a>b", "a>e", "d", "c>d"]
        chain.fell("e")
        chain.fell("d")
        assert short(hear(socket, 1)[0]) == "LEFT d INVALID"


def test_a_subtree_takes_in_what_is_linked_to_it(server: Listening, chain: Memory) -> None:
    chain.plant("far", "beyond")
    chain.link("far REQUIRES beyond")
    with server.socket() as socket:
        socket.subscribe("s", WATCH, filter={"subtreeOf": {"key": "d"}})
        assert [thing(each) for each in hear_snapshot(socket)] == ["d", "c>d"]
        chain.fell("e")
        linked = chain.link("d SUPPORTED_BY far")
        told = [short(each) for each in hear(socket, 4)]
        unlink_nodes(chain.scope, 1, [linked.edges[0].id])
        gone = [short(each) for each in hear(socket, 4)]
    nodes = ["far CURRENTLY_VALID", "beyond CURRENTLY_VALID", "far>beyond", "d>far"]
    assert told == [f"ENTERED {each}" for each in nodes]
    assert gone == [f"LEFT {each}" for each in nodes]


@pytest.mark.parametrize("page", [2, 500])
def test_whoever_drops_out_goes_on_behind_any_cursor(
    server: Listening, chain: Memory, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While others write; in the end it has what there is, by what it was told alone."""
    monkeypatch.setattr(sources, "PAGE", page)
    heard: list[Told] = []
    with server.socket() as socket:
        socket.subscribe("s", WATCH)
        heard += hear(socket, 2)
    writer = Thread(target=lambda: work(chain))
    writer.start()
    while not is_last(heard[-1]):
        with server.socket() as socket:
            socket.subscribe("s", WATCH, after=heard[-1]["cursor"])
            for _ in range(4):
                heard += hear(socket, 1)
                if is_last(heard[-1]):
                    break
    writer.join()
    kinds = [each["kind"] for each in heard]
    assert kinds.count("SNAPSHOT_END") == 1
    changes = heard[kinds.index("SNAPSHOT_END") + 1 :]
    assert [each["at"] for each in changes] == history(chain, heard[0]["at"])
    with server.socket() as socket:
        socket.subscribe("s", WATCH)
        assert replayed(heard) == replayed(hear_snapshot(socket))


LAST = "last"


def is_last(told: Told) -> bool:
    return told["node"] is not None and told["node"]["key"] == LAST


def work(memory: Memory) -> None:
    for number in range(4):
        memory.plant(f"w{number}")
        memory.link(f"w{number} REQUIRES e")
        memory.fell(f"w{number}")
    memory.plant(LAST)


def replayed(heard: list[Told]) -> dict[str, str | None]:
    """What one who was told all this knows: nodes with their validities, and edges."""
    known: dict[str, str | None] = {}
    for each in heard:
        if each["kind"] == "LEFT":
            del known[thing(each)]
        elif each["kind"] != "SNAPSHOT_END":
            known[thing(each)] = each["node"] and each["node"]["validity"]
    return known


def history(memory: Memory, began: str) -> list[str]:
    """The instants of all changes since."""
    everybody = Audience(NodeFilter(), None)
    rows = list_updates(memory.scope, 1, everybody, Place(0, 0, 0), 1_000).rows
    instants = [format_instant(each.place.at) for each in rows]
    return [each for each in instants if each > began]


def test_who_asks_alike_is_told_alike(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        for id in "xy":
            socket.subscribe(id, WATCH, filter={"keyPrefix": "d"})
            assert thing(hear_snapshot(socket, id)[0]) == "d"
        chain.fell("d")
        messages = [socket.hear(), socket.hear()]
    assert {each["id"] for each in messages} == {"x", "y"}
    assert messages[0]["payload"] == messages[1]["payload"]


def test_a_cursor_of_another_filter_is_refused(server: Listening, chain: Memory) -> None:
    with server.socket() as socket:
        socket.subscribe("s", WATCH, filter={"keyPrefix": "d"})
        cursor = hear(socket, 1)[0]["cursor"]
        socket.subscribe("t", WATCH, after=cursor)
        while (message := socket.hear())["id"] != "t":
            pass
    assert message["payload"][0]["extensions"]["code"] == "INVALID_CURSOR"


@pytest.mark.parametrize("query", [WATCH, EVENTS])
def test_a_root_that_is_not_there_is_told(server: Listening, chain: Memory, query: str) -> None:
    with server.socket() as socket:
        socket.subscribe("s", query, filter={"subtreeOf": {"key": "none"}})
        error = socket.hear()
    assert error["type"] == "error"
    assert error["payload"][0]["extensions"]["code"] == "NOT_FOUND"


def test_events_are_narrowed_down_by_their_nodes(
    server: Listening, chain: Memory, clock: ManualClock
) -> None:
    chain.fell("a")
    clock.advance()
    with server.socket() as socket:
        socket.subscribe("s", EVENTS, filter={"keys": ["c"]})
        assert socket.next("s")["data"]["events"]["node"]["key"] == "c"
        chain.plant("x")
        chain.fell("x")
        socket.subscribe("t", EVENTS, filter={"subtreeOf": {"key": "x"}})
        assert socket.next("t")["data"]["events"]["node"]["key"] == "x"
