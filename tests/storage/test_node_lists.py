"""Filtered lists of nodes, page by page, tell what a naive reader tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from retrograph.rules.validity import Validity
from retrograph.storage.filters import NodeFilter
from retrograph.storage.node_lists import page_nodes
from retrograph.storage.records import NodeKind, NodeRecord
from tests.storage.counting import count
from tests.storage.world import FLEET, KEYS, TENANT, World

SICK = frozenset({Validity.INVALID, Validity.POTENTIALLY_STALE})
MIXED = frozenset({Validity.INVALID, Validity.REVALIDATED})

FILTERS: dict[str, tuple[NodeFilter, Callable[[NodeRecord], Any]]] = {
    "everything": (NodeFilter(), lambda n: True),
    "kind": (NodeFilter(kind=NodeKind.RULE), lambda n: n.kind is NodeKind.RULE),
    "sick": (NodeFilter(validity=SICK), lambda n: n.validity in SICK),
    "mixed": (NodeFilter(validity=MIXED), lambda n: n.validity in MIXED),
    "no validity": (NodeFilter(validity=frozenset()), lambda n: False),
    "pinned": (NodeFilter(pinned=True), lambda n: n.pinned),
    "unpinned": (NodeFilter(pinned=False), lambda n: not n.pinned),
    "sick rules": (
        NodeFilter(validity=SICK, kind=NodeKind.RULE, pinned=False),
        lambda n: n.validity in SICK and n.kind is NodeKind.RULE and not n.pinned,
    ),
    "keys": (NodeFilter(keys=frozenset({"a", "ä", "x"})), lambda n: n.key in {"a", "ä"}),
    "sick keys": (
        NodeFilter(keys=frozenset(KEYS), validity=SICK),
        lambda n: n.key is not None and n.validity in SICK,
    ),
    "no ids": (NodeFilter(ids=frozenset()), lambda n: False),
    "keys and a prefix": (
        NodeFilter(keys=frozenset({"a", "b"}), key_prefix="a"),
        lambda n: n.key == "a",
    ),
}


def _prefixed(prefix: str) -> tuple[NodeFilter, Callable[[NodeRecord], Any]]:
    return NodeFilter(key_prefix=prefix), lambda n: n.key is not None and n.key.startswith(prefix)


FILTERS |= {f"prefix {prefix!r}": _prefixed(prefix) for prefix in ("", *KEYS, "\U0010ffff", "é")}


@pytest.mark.parametrize("name", FILTERS)
def test_a_list_is_what_passes_the_filter(world: World, name: str) -> None:
    filter, passes = FILTERS[name]
    for at in world.moments():
        expected = [node for node in world.nodes(at).values() if passes(node)]
        with world.store.read(TENANT, FLEET, at) as s:
            page = page_nodes(s, filter, 1_000, None)
        assert (page.rows, page.has_next, page.as_of) == (expected, False, at)


def test_ids_of_other_fleets_are_not_listed(world: World) -> None:
    wanted = frozenset([*world.strangers, *list(world.identities)[::2]])
    at = world.instants[-1]
    with world.store.read(TENANT, FLEET) as s:
        page = page_nodes(s, NodeFilter(ids=wanted), 1_000, None)
    assert [n.id for n in page.rows] == [id for id in world.nodes(at) if id in wanted]


@pytest.mark.parametrize("name", ["everything", "sick", "mixed", "prefix ''", "sick keys"])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_pages_follow_each_other_without_gap_or_overlap(
    world: World, name: str, first: int
) -> None:
    filter, passes = FILTERS[name]
    for at in (world.instants[len(world.instants) // 2], world.instants[-1]):
        expected = [node.id for node in world.nodes(at).values() if passes(node)]
        found: list[int] = []
        with world.store.read(TENANT, FLEET, at) as s:
            while (page := page_nodes(s, filter, first, found[-1] if found else None)).rows:
                assert len(page.rows) <= first
                found += [node.id for node in page.rows]
                assert page.has_next == (found != expected)
        assert found == expected


@pytest.mark.parametrize("name", ["everything", "sick", "prefix ''", "keys"])
def test_a_page_of_any_size_takes_three_statements(world: World, name: str) -> None:
    filter, _ = FILTERS[name]
    for at in (None, world.instants[-2]):
        with world.store.read(TENANT, FLEET, at) as s:
            assert count(s, lambda: page_nodes(s, filter, 1, None)) <= 3
            assert count(s, lambda: page_nodes(s, filter, 1_000, None)) <= 3
