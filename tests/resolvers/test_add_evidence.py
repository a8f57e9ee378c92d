"""`addEvidence`: URIs with notes that hang on nodes."""

from __future__ import annotations

import pytest

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.rules.errors import InvalidInput, NotFound, RetrographError
from retrograph.storage.evidence import evidence_of
from tests.dump import dump
from tests.memory import Memory, ref

URI = "https://example.org/reading/7"


def hanging(memory: Memory, key: str, at: int | None = None) -> list[tuple[str, str | None]]:
    node_id = memory.node(key).id
    with memory.scope.snapshot(1, at) as snapshot:
        return [(each.uri, each.note) for each in evidence_of(snapshot, [node_id])[node_id]]


def test_evidence_hangs_on_its_node_from_its_instant_on(memory: Memory) -> None:
    memory.plant("a", "b")
    done = add_evidence(memory.scope, 1, ref("a"), URI, "read by hand")
    assert (done.node.key, done.node.as_of) == ("a", done.instant)
    assert (done.evidence.uri, done.evidence.note) == (URI, "read by hand")
    assert (done.evidence.valid_from, done.evidence.node_id) == (done.instant, done.node.id)
    assert hanging(memory, "a") == [(URI, "read by hand")]
    assert hanging(memory, "a", done.instant - 1) == hanging(memory, "b") == []


def test_the_node_itself_is_not_changed(memory: Memory) -> None:
    memory.plant("a")
    before = memory.node("a").version_id
    add_evidence(memory.scope, 1, ref("a"), URI)
    assert memory.node("a").version_id == before
    assert (memory.runs(), memory.events()) == ([], [])


def test_a_uri_hangs_on_a_node_once_and_takes_a_new_note(memory: Memory) -> None:
    memory.plant("a")
    first = add_evidence(memory.scope, 1, ref("a"), URI, "one")
    same = add_evidence(memory.scope, 1, ref("a"), URI)
    again = add_evidence(memory.scope, 1, ref("a"), URI, "two")
    assert first.evidence.id == same.evidence.id == again.evidence.id
    assert same.evidence.valid_from == first.instant
    assert (same.evidence.note, again.evidence.note) == ("one", "two")
    assert hanging(memory, "a") == [(URI, "two")]
    assert hanging(memory, "a", again.instant - 1) == [(URI, "one")]


def test_one_uri_may_hang_on_many_nodes(memory: Memory) -> None:
    memory.plant("a", "b")
    one, other = (add_evidence(memory.scope, 1, ref(key), URI) for key in "ab")
    assert one.evidence.id < other.evidence.id


@pytest.mark.parametrize(
    ("key", "uri", "note", "kind", "path"),
    [
        ("nobody", URI, None, NotFound, ("node", "key")),
        ("a", "", None, InvalidInput, ("uri",)),
        ("a", "u\0", None, InvalidInput, ("uri",)),
        ("a", "u" * 10_001, None, InvalidInput, ("uri",)),
        ("a", URI, "\ud800", InvalidInput, ("note",)),
    ],
)
def test_bad_input_changes_nothing(
    memory: Memory,
    key: str,
    uri: str,
    note: str | None,
    kind: type[RetrographError],
    path: tuple[str, ...],
) -> None:
    memory.plant("a")
    before = dump(memory.store)
    with pytest.raises(kind) as caught:
        add_evidence(memory.scope, 1, ref(key), uri, note)
    assert caught.value.path == ("input", *path)
    assert dump(memory.store) == before
