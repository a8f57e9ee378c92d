"""A file imported again changes nothing; one that would is refused."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import ImportRejected
from retrograph.rules.validity import Validity
from retrograph.storage.records import RunStatus
from retrograph.storage.store import Store
from tests.resolvers.files import contents, edge, invalidate, load, node, nodes, supersede

CONTENTS: dict[str, tuple[Any, Any]] = {
    "payload": ({"a": 1, "b": [2]}, {"a": 1}),
    "contractHash": ("one", None),
    "confidence": (0.5, 1),
    "expiresAt": ("2030-01-01T00:00:00Z", "2030-01-01T00:00:00.000001Z"),
}


@pytest.mark.parametrize("field", CONTENTS)
def test_a_file_that_gives_a_node_two_contents_is_refused(
    scope: Scope, store: Store, field: str
) -> None:
    """Each import of it would change the node there and back, and fell what rests on it."""
    one, other = CONTENTS[field]
    before = contents(store)
    by = supersede("old", {"key": "new", "kind": "RULE", field: one})
    again = supersede("old", {"key": "new", field: other})
    named = ("node", {"key": "new", field: other})
    for lines, number in (
        ((node("new", kind="RULE", **{field: other}), node("old"), by), 3),
        ((by, node("old"), node("new", kind="RULE"), named), 1),
        ((node("old"), by, invalidate("old"), again), 4),
        ((node("old"), ("supersede", {**by[1], "fleet": 1}), again), 3),
    ):
        with pytest.raises(ImportRejected) as caught:
            load(scope, *lines)
        assert caught.value.line == number
        assert caught.value.reason.startswith(f"supersede.by.{field}: The file gives this node two")
    assert contents(store) == before


@pytest.mark.parametrize("field", CONTENTS)
def test_the_same_content_may_stand_in_several_lines(
    scope: Scope, store: Store, field: str
) -> None:
    one, other = CONTENTS[field]
    lines = (
        node("new", kind="RULE", **{field: other}),
        ("node", {"key": "new", field: one}),
        node("new", fleet=2),
        node("old"),
        supersede("old", {"key": "new", field: one}),
        supersede("old", {"key": "new", field: one, "kind": "RULE"}, reason="again"),
        node("old", fleet=2),
        supersede("old", {"key": "new", field: other}, fleet=2),
    )
    load(scope, *lines)
    before = contents(store)
    again = load(scope, *lines)
    assert contents(store) == before
    assert {run.status for run in again.runs} == {RunStatus.NO_CHANGE}


def test_content_that_only_a_supersession_gives_fells_once(scope: Scope, store: Store) -> None:
    lines = (
        node("new"),
        node("kept", validity="CURRENTLY_VALID"),
        edge("new", "kept"),
        node("old"),
        supersede("old", {"key": "new", "payload": 2}),
    )
    load(scope, *lines)
    assert nodes(scope)["kept"].validity == Validity.POTENTIALLY_STALE
    before = contents(store)
    for _ in range(2):
        load(scope, *lines)
        assert contents(store) == before


def test_a_given_validity_gives_way_to_the_runs_of_its_own_file_alone(
    scope: Scope, store: Store
) -> None:
    lines = (node("a", validity="CURRENTLY_VALID"), node("b", validity="POTENTIALLY_STALE"))
    load(scope, *lines, edge("a", "b"), invalidate("a"))
    before = contents(store)
    load(scope, *lines, edge("a", "b"), invalidate("a"))
    assert contents(store) == before
    load(scope, *lines)
    assert nodes(scope)["b"].validity == Validity.POTENTIALLY_STALE
    assert nodes(scope)["b"].run_id is None
