"""Canonical JSON is RFC 8785 to the letter, on the fast way and on the careful one."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from retrograph.rules.canonical_json import (
    MAX_NESTING,
    MAX_SAFE_INTEGER,
    _fast,
    canonical_json,
)
from retrograph.rules.errors import InvalidInput

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

# All characters but NUL and the surrogates, with those that tell encoders apart made frequent.
characters = st.one_of(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
    st.sampled_from('"\\/\b\f\n\r\t\x01\x1f\x7f\x80\u2028\u2029\ue000\uffff\U00010000\U0010ffff'),
)
texts = st.text(characters, max_size=8)
integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
floats = st.floats(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)


def values(scalars: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """JSON values of these scalars."""
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
        max_leaves=20,
    )


plain = values(st.none() | st.booleans() | integers | texts)
anything = values(st.none() | st.booleans() | integers | floats | texts)


@given(plain | anything)
@example({"\uffff": 1, "\U00010000": 2})
@example({"b": {"z": 1, "a": [True, None]}, "a": "\u2028"})
@example("\\u0000")
@example([0.0, -0.0, 1e-7, 1e-6, 1.5e15, 5e-324, 9007199254740991.0])
def test_agrees_with_the_reference(value: Json) -> None:
    text = canonical_json(value)
    assert text.encode() == rfc8785.dumps(value)
    assert json.loads(text) == value


@given(st.dictionaries(st.text("abc_\x7f~", max_size=4), texts | integers | st.none()))
def test_the_fast_way_is_taken_and_agrees(value: dict[str, Json]) -> None:
    encoded = _fast([value, {"nested": value}])
    # A text that merely spells \\u0000 takes the careful way.
    assert encoded == rfc8785.dumps([value, {"nested": value}]) or "\\u0000" in str(value)


@pytest.mark.parametrize("value", [0.5, {"\U00010000": 1}, (1,), [True, 1e3], "a\0b", 2**53])
def test_the_fast_way_declines_what_it_might_write_otherwise(value: object) -> None:
    assert _fast(value) is None


@given(anything)
def test_canonical_text_is_its_own_canonical_form(value: Json) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(st.dictionaries(texts, integers, min_size=2))
def test_the_order_of_keys_is_no_content(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical_json(backwards) == canonical_json(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": "é"}, '{"a":"é","b":1}'),
        (333333333.33333329, "333333333.3333333"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (1e-27, "1e-27"),
        (-0.0, "0"),
        (5.0, "5"),
        ((1, 2), "[1,2]"),
        ('€$\x0f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        (None, "null"),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_examples(value: object, text: str) -> None:
    assert canonical_json(value) == text


def test_keys_sort_by_utf16_units() -> None:
    assert canonical_json({"\ufb33": 1, "😀": 2}) == '{"😀":2,"\ufb33":1}'


class Colour(Enum):
    """Something that an encoder might take for its value."""

    RED = "red"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "NaN"),
        (math.inf, "infinities"),
        (-math.inf, "infinities"),
        (MAX_SAFE_INTEGER + 1, "beyond 2\\^53"),
        (-MAX_SAFE_INTEGER - 1, "beyond 2\\^53"),
        (2.0**53, "beyond 2\\^53"),
        (-1e300, "beyond 2\\^53"),
        (10**400, "beyond 2\\^53"),
        pytest.param(10**5000, "beyond 2\\^53", id="huge"),
        ("\ud800", "surrogate"),
        ("a\0b", "NUL"),
        (b"bytes", "bytes is no JSON type"),
        ({1, 2}, "set is no JSON type"),
        (uuid.UUID(int=1), "UUID is no JSON type"),
        (datetime(2024, 1, 1, tzinfo=UTC), "datetime is no JSON type"),
        (Colour.RED, "Colour is no JSON type"),
    ],
)
@pytest.mark.parametrize(
    "wrap", [lambda v: v, lambda v: [v], lambda v: {"deep": [1, {"er": v}]}, lambda v: (0.5, v)]
)
def test_refused_wherever_it_stands(
    value: object, reason: str, wrap: Callable[[object], object]
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        canonical_json(wrap(value), field=("nodes", "0", "payload"))
    assert refused.value.code == "BAD_USER_INPUT"
    assert refused.value.path == ("nodes", "0", "payload")


@pytest.mark.parametrize(
    ("key", "reason"),
    [("a\0", "NUL"), ("\udc00", "surrogate"), (1, "no string"), (None, "no string")],
)
def test_keys_refused(key: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        canonical_json({"fine": 1, key: 2})


def nested(depth: int, core: object) -> object:
    """`core` inside `depth` arrays."""
    for _ in range(depth):
        core = [core]
    return core


@pytest.mark.parametrize("core", [1, 0.5, [], {}, ()])
def test_nesting_is_bounded(core: object) -> None:
    """Empty objects and lists count, too."""
    most = MAX_NESTING - isinstance(core, dict | list | tuple)
    text = "[]" if core == () else str(core)
    assert canonical_json(nested(most, core)) == "[" * most + text + "]" * most
    for depth in (most + 1, 300, 100_000):
        with pytest.raises(InvalidInput, match="deeper than 200"):
            canonical_json(nested(depth, core))


def test_a_value_that_contains_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(InvalidInput, match="deeper than 200"):
        canonical_json(value)
    value.append(value)
    with pytest.raises(InvalidInput) as refused:
        canonical_json(value, most=10_000)
    assert refused.value.code == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("value", ["é" * 49, ["a" * 94, 1], [0.5] * 24])
def test_size_counts_utf8_bytes(value: object) -> None:
    size = len(canonical_json(value).encode())
    assert canonical_json(value, most=size)
    with pytest.raises(InvalidInput, match="canonical JSON") as refused:
        canonical_json(value, most=size - 1)
    assert refused.value.code == "PAYLOAD_TOO_LARGE"
