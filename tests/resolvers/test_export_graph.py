"""What an export gives, imported elsewhere, is the same graph; and it is that of its instant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.resolvers.inputs import Invalidation, NodeInput, OnChange
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import InstantInFuture, NotFound
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeKind, NodeRef
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.planting import plant_edges
from tests.resolvers.files import Line, edge, evidence, exported, load, node

ALL_OF_A_NODE: dict[str, Any] = {
    "payload": {"a": [1.5, None, "ü"]},
    "contractHash": "h",
    "confidence": 0.1,
    "validity": "POTENTIALLY_STALE",
    "pinned": True,
    "pinReason": "because",
    "projected": "INVALID",
    "expiresAt": "2030-01-01T00:00:00.000001Z",
}


def test_every_field_comes_out_as_it_went_in(scope: Scope) -> None:
    lines = [
        node("b", **ALL_OF_A_NODE),
        node("a", kind="RULE"),
        edge("a", "b", "OBSERVED_FROM"),
        evidence("a", "u", note="n"),
        evidence("b", "v"),
    ]
    load(scope, *lines)
    assert exported(scope) == lines


def test_an_instant_is_exported_as_it_was(scope: Scope, clock: ManualClock) -> None:
    load(scope, node("a"), node("b"), edge("a", "b"), evidence("a", "u"))
    at, before = scope.clock(1), exported(scope)
    clock.advance()
    load(scope, node("a", payload=1), node("c"), edge("b", "c"), evidence("a", "u", note="n"))
    invalidate(scope, 1, Invalidation(NodeRef(key="a"), "wrong"))
    assert exported(scope, at=at) == before
    assert exported(scope, at=at - 1) == []
    assert exported(scope)[0][1]["validity"] == "INVALID"


def test_nodes_without_a_key_get_one_that_nobody_has(scope: Scope) -> None:
    inputs = [NodeInput(kind=NodeKind.RULE), NodeInput(key="id:1", kind=NodeKind.RULE)]
    first, taken = put_nodes(scope, 1, inputs, OnChange.KEEP).nodes
    assert first.id == 1
    plant_edges(scope.store, [(first.id, taken.id, EdgeType.REQUIRES)])
    assert [body["key"] for head, body in exported(scope) if head == "node"] == ["id:1:", "id:1"]
    assert exported(scope)[-1] == edge("id:1:", "id:1")


def test_broken_edges_are_left_out(scope: Scope, store: Store) -> None:
    load(scope, node("a"), node("b", fleet=2))
    plant_edges(store, [(1, 1, EdgeType.REQUIRES), (1, 2, EdgeType.REQUIRES)])
    assert exported(scope) == [node("a")]


def test_pages_join_without_a_seam(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrograph.resolvers.export_graph._ROWS", 2)
    lines: list[Line] = [node(f"n{i}") for i in range(5)]
    lines += [edge(f"n{i}", f"n{i + 1}") for i in range(4)]
    lines += [evidence("n1", f"u{i}") for i in range(4)]
    load(scope, *lines)
    assert exported(scope) == lines


def test_what_is_not_there_is_refused(scope: Scope, clock: ManualClock) -> None:
    with pytest.raises(NotFound):
        exported(scope, fleet=9)
    with pytest.raises(InstantInFuture):
        exported(scope, at=clock.now + 1)


KEYS = [f"k{i}" for i in range(5)]
TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=3)
NODE = st.fixed_dictionaries(
    {"kind": st.sampled_from([kind.name for kind in NodeKind])},
    optional={
        "payload": st.dictionaries(TEXT, st.floats(0, 9) | TEXT),
        "contractHash": TEXT.filter(str.strip),
        "confidence": st.floats(0, 1),
        "validity": st.sampled_from([validity.name for validity in Validity]),
        "pinned": st.booleans(),
    },
)
EDGES = st.lists(
    st.tuples(
        st.sampled_from(KEYS), st.sampled_from(KEYS), st.sampled_from([t.name for t in EdgeType])
    ).filter(lambda ends: ends[0] != ends[1]),
    max_size=8,
)


@given(st.lists(NODE, min_size=5, max_size=5), EDGES, st.sampled_from(KEYS))
def test_imported_elsewhere_it_is_the_same_graph(
    scope: Scope, bodies: list[dict[str, Any]], ends: list[tuple[str, str, str]], root: str
) -> None:
    fleets = scope.store.fleet_ids(1)
    here, there = len(fleets) + 1, len(fleets) + 2
    nodes: list[Line] = [
        ("node", {"key": key, **body}) for key, body in zip(KEYS, bodies, strict=True)
    ]
    load(scope, *nodes, *(edge(*each) for each in ends), fleet=here)
    invalidate(scope, here, Invalidation(NodeRef(key=root), "wrong"))
    lines = exported(scope, here)
    load(scope, *lines, fleet=there)
    assert exported(scope, there) == lines
    again = load(scope, *lines, fleet=there).loaded
    assert (again.nodes, again.nodes_changed, again.edges) == (0, 0, 0)
