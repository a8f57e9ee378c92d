"""Keys are compared byte by byte: what differs at all stays apart, and each is found as it is."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.inputs import Invalidation, NodeInput, OnChange
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.nodes import get_node, list_nodes
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.limits import MAX_FIRST
from retrograph.storage.filters import NodeFilter, RunFilter
from retrograph.storage.nodes import find_nodes
from retrograph.storage.records import NodeRef
from retrograph.storage.runs import page_runs
from tests.memory import NEW, Memory
from tests.planting import new_node, plant_nodes
from tests.resolvers.files import edge, evidence, exported, load, node

LONGEST = "\U0001f40c" * 999
ALIKE = (
    *("key", "Key", "KEY", "kéy", "këy", "key ", "key  ", " key", "key\t", "key\n", "ke y"),
    *(normalize(form, "k\u00e9\u1e69y") for form in ("NFC", "NFD")),
    *("straße", "strasse", "STRASSE", "ﬁx", "fix", "ﬀ", "ff", "Å", "\u212b", "A\u030a"),
    *("ı", "i", "İ", "I", "σ", "ς", "Σ", "ㄱ", "ᄀ", "か", "カ", "ｶ", "1", "１", "¹"),
    *(
        "a\u200bb",
        "ab",
        "a\u00adb",
        "a\ufeffb",
        "\u202eab",
        "a\u0301",
        "\u00e1",
        "%",
        "_",
        "\\",
        "'",
    ),
    *("\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\u0001", "\u007f"),
    *(LONGEST + last for last in "ab\U0001f40d"),
    *("x" * 1_000, "x" * 999, "X" * 1_000, "x" * 999 + " "),
)
"""Keys that some collation, padding or normal form takes for one another."""
KEYS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
).filter(str.strip)


def all_keys(scope: Scope) -> set[str | None]:
    return {each.key for each in list_nodes(scope, 1, NodeFilter(), MAX_FIRST).rows}


@pytest.fixture
def planted(scope: Scope) -> dict[str, int]:
    """The id of each of the alike."""
    given = [NodeInput(key, kind=NEW, payload=key) for key in ALIKE]
    nodes = put_nodes(scope, 1, given, OnChange.KEEP).nodes
    assert len({each.id for each in nodes}) == len(set(ALIKE)) == len(ALIKE)
    return {key: each.id for key, each in zip(ALIKE, nodes, strict=True)}


def test_each_is_a_node_of_its_own_and_found_by_its_key(
    scope: Scope, planted: dict[str, int]
) -> None:
    assert all_keys(scope) == set(ALIKE)
    for key, id in planted.items():
        found = get_node(scope, 1, NodeRef(key=key))
        assert found is not None
        assert (found.id, found.key) == (id, key)
    with scope.snapshot(1) as snapshot:
        found_at_once = find_nodes(snapshot, [NodeRef(key=key) for key in ALIKE])
    assert found_at_once == {NodeRef(key=key): id for key, id in planted.items()}


def test_each_is_filtered_by_its_key(scope: Scope, planted: dict[str, int]) -> None:
    for key in ALIKE:
        page = list_nodes(scope, 1, NodeFilter(keys=frozenset({key})), 9)
        assert [each.key for each in page.rows] == [key]
    some = frozenset(ALIKE[::3])
    assert {each.key for each in list_nodes(scope, 1, NodeFilter(keys=some), 99).rows} == some


def test_a_prefix_is_one_of_bytes(scope: Scope, planted: dict[str, int]) -> None:
    prefixes = {key[:length] for key in ALIKE for length in (1, 2, 3, 999, 1_000)}
    for prefix in prefixes:
        page = list_nodes(scope, 1, NodeFilter(key_prefix=prefix), MAX_FIRST)
        assert {each.key for each in page.rows} == {k for k in ALIKE if k.startswith(prefix)}


def test_each_is_updated_alone(scope: Scope, planted: dict[str, int]) -> None:
    for key in ALIKE[::5]:
        put_nodes(scope, 1, [NodeInput(key, payload="new")], OnChange.KEEP)
        changed = [n for n in Memory(scope).nodes().values() if n.payload == '"new"']
        assert [each.key for each in changed] == [key]
        put_nodes(scope, 1, [NodeInput(key, payload="old")], OnChange.KEEP)


def test_import_and_export_keep_them_apart(scope: Scope) -> None:
    lines = [node(key) for key in ALIKE]
    lines += [edge(ALIKE[0], key) for key in ALIKE[1:]]
    lines += [evidence(key, "urn:" + key[:900]) for key in ALIKE]
    assert load(scope, *lines).loaded.nodes == len(ALIKE)
    again = load(scope, *lines).loaded
    assert (again.nodes, again.nodes_changed, again.edges, again.evidence) == (0, 0, 0, 0)
    assert exported(scope) == lines


def test_other_texts_are_kept_apart_too(scope: Scope) -> None:
    Memory(scope).plant("a")
    for key in ALIKE:
        add_evidence(scope, 1, NodeRef(key="a"), f"urn:{key}")
    assert sum(head == "evidence" for head, _ in exported(scope)) == len(ALIKE)
    asked = [
        invalidate(scope, 1, Invalidation(NodeRef(key="a"), f"as {key}", idempotency_key=key))
        for key in ALIKE
        if key.strip()
    ]
    assert len({run.id for run in asked}) == len(asked)
    for run in asked:
        with scope.snapshot(1) as snapshot:
            (found,) = page_runs(snapshot, RunFilter(reason=run.reason), 9, None).rows
        assert found.id == run.id


@settings(max_examples=25)
@given(keys=st.lists(KEYS, min_size=2, max_size=12, unique=True))
def test_any_keys_stay_apart(scope: Scope, keys: list[str]) -> None:
    known = all_keys(scope)
    put_nodes(scope, 1, [NodeInput(key, kind=NEW) for key in keys], OnChange.KEEP)
    assert all_keys(scope) == known | set(keys)
    for key in keys:
        found = get_node(scope, 1, NodeRef(key=key))
        assert found is not None
        assert found.key == key


def test_more_keys_than_one_statement_takes_are_found(scope: Scope) -> None:
    keys = [f"{number}{LONGEST[:990]}" for number in range(4_500)]
    ids = plant_nodes(scope.store, [new_node(key) for key in keys])
    refs = [NodeRef(key=key) for key in keys]
    with scope.snapshot(1) as snapshot:
        assert find_nodes(snapshot, refs) == dict(zip(refs, ids, strict=True))
