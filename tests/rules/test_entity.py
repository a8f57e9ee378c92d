"""Entities: one URN however a name is spelt, none of another tenant, and what is related."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.entity import (
    MAX_HOPS,
    check_hops,
    entity_urn,
    expand,
    name_of,
    relation_ends,
)
from retrograph.rules.errors import InvalidInput
from retrograph.rules.names import fold_name


@pytest.mark.parametrize(
    ("name", "folded"),
    [("Acme", "acme"), ("STRASSE", "strasse"), ("straße", "strasse"), ("Cafe\u0301", "café"),
     ("a:b", "a:b"), ("urn:x:y", "urn:x:y"), (" a\u2003", "a"), ("a  b", "a  b"),
     ("urn:tenant:7:entity:Acme", "acme"), ("URN:Tenant:7:ENTITY:Acme", "acme"),
     (" Urn:tenant:7:entity: Acme ", "acme"), ("ß\u0301", "sś"), ("SS\u0301", "sś")],
)  # fmt: skip
def test_a_name_is_folded(name: str, folded: str) -> None:
    urn = entity_urn(7, name)
    assert urn == f"urn:tenant:7:entity:{folded}"
    assert name_of(urn) == folded
    assert entity_urn(7, urn) == urn


@pytest.mark.parametrize(
    "name",
    ["", "  ", "x" * 201, "ß" * 101, "a\0", "urn:tenant:8:entity:a", "urn:tenant:7:entity:",
     "URN:TENANT:8:entity:a", "urn:tenant:7:tool:a", "urn:tenant:07:entity:a",
     "urn:tenant:7:entity:urn:tenant:7:entity:a"],
)  # fmt: skip
def test_what_names_nothing_of_the_tenant_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        entity_urn(7, name, ("a", "field"))
    assert caught.value.path == ("a", "field")


SPACES = st.text(" \t\n\u00a0\u2003", max_size=2)


def urn_or_none(name: str) -> str | None:
    try:
        return entity_urn(7, name)
    except InvalidInput:
        return None


@given(st.text(max_size=8) | st.text("sßŚΐ\u0301\u0331\u0345", max_size=4), SPACES, SPACES)
def test_one_entity_has_one_urn(name: str, before: str, after: str) -> None:
    """However it is spelt, and the URN names it as well, in any case."""
    urn = urn_or_none(name)
    assert urn_or_none(f"{before}{name}{after}") == urn
    if urn is not None:
        assert entity_urn(7, f"{before}{urn}{after}") == urn
        assert entity_urn(7, f"URN:Tenant:7:Entity:{before}{name}{after}") == urn
        assert name_of(urn) == fold_name(name_of(urn)) == name_of(urn).strip()


@given(st.text(max_size=8))
def test_a_name_that_is_folded_stays(name: str) -> None:
    folded = fold_name(name)
    assert fold_name(folded) == folded
    assert fold_name(normalize("NFD", name)) == folded


@given(st.sampled_from(["a", "A ", "urn:tenant:7:entity:a"]), st.sampled_from(["A", " a", "b"]))
def test_no_entity_relates_to_itself(source: str, target: str) -> None:
    if target == "b":
        assert relation_ends(7, source, target) == (entity_urn(7, "a"), entity_urn(7, "b"))
        return
    with pytest.raises(InvalidInput) as caught:
        relation_ends(7, source, target, ("pair",))
    assert (caught.value.code, caught.value.path) == ("SELF_LOOP", ("pair",))


PAIRS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=8)


@given(st.sets(st.sampled_from("abcdef")), PAIRS, st.integers(0, MAX_HOPS))
def test_expansion_goes_both_ways_and_no_further(
    start: set[str], pairs: list[tuple[str, str]], hops: int
) -> None:
    both = {*pairs, *((b, a) for a, b in pairs)}
    related = {name: {b for a, b in both if a == name} for name in "abcdef"}
    wanted = set(start)
    for _ in range(hops):
        wanted |= {b for a, b in both if a in wanted}
    assert expand(start, related, hops) == wanted


@pytest.mark.parametrize("hops", [-1, MAX_HOPS + 1])
def test_hops_have_a_limit(hops: int) -> None:
    assert check_hops(0) == 0
    with pytest.raises(InvalidInput):
        check_hops(hops)
