"""Entities: one URN however a name is spelt, none of another tenant, and what is related."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.entity import MAX_HOPS, check_hops, entity_urn, expand, name_of
from retrograph.rules.errors import InvalidInput


@pytest.mark.parametrize(
    ("name", "folded"),
    [("Acme", "acme"), ("STRASSE", "strasse"), ("straße", "strasse"), ("Cafe\u0301", "café"),
     ("a:b", "a:b"), ("urn:x:y", "urn:x:y"), (" a ", " a ")],
)  # fmt: skip
def test_a_name_is_folded(name: str, folded: str) -> None:
    urn = entity_urn(7, name)
    assert urn == f"urn:tenant:7:entity:{folded}"
    assert name_of(urn) == folded
    assert entity_urn(7, urn) == urn


@pytest.mark.parametrize(
    "name", ["", "  ", "x" * 201, "a\0", "urn:tenant:8:entity:a", "urn:tenant:7:entity:"]
)
def test_what_names_nothing_of_the_tenant_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        entity_urn(7, name)


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
