"""A cursor gives back what was put in, and only to the list and instant it was made for."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.cursor import (
    MAX_CURSOR_LENGTH,
    Shape,
    decode_cursor,
    decode_event_cursor,
    encode_cursor,
    encode_event_cursor,
)
from retrograph.rules.errors import InvalidCursor
from retrograph.rules.instant import EARLIEST, LATEST
from retrograph.rules.limits import MAX_ID, MAX_KEY_LENGTH, MIN_ID

instants = st.integers(EARLIEST, LATEST)
ids = st.integers(MIN_ID, MAX_ID)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(instants, ids, texts)
def test_round_trip(at: int, number: int, text: str) -> None:
    cursor = encode_cursor("nodes", at, number, text)
    assert cursor.isascii()
    assert not set(cursor) & set("+/= ")
    assert decode_cursor(cursor, "nodes", at, (int, str)) == (at, (number, text))
    assert decode_cursor(cursor, "nodes", None, (int, str)) == (at, (number, text))


@given(instants, st.lists(ids))
def test_any_number_of_integers(at: int, numbers: list[int]) -> None:
    cursor = encode_cursor("paths", at, *numbers)
    assert decode_cursor(cursor, "paths", at, (int, ...)).position == tuple(numbers)


@pytest.mark.parametrize("character", ["k", "é", "😀", "\x01", '"'])
def test_the_longest_key_has_room(character: str) -> None:
    key = character * MAX_KEY_LENGTH
    cursor = encode_cursor("neighbourhood", LATEST, MIN_ID, key)
    assert decode_cursor(cursor, "neighbourhood", LATEST, (int, str)).position == (MIN_ID, key)


def raw(value: object) -> str:
    """What a forger would pass: the base64 of some JSON."""
    return base64.urlsafe_b64encode(orjson.dumps(value)).rstrip(b"=").decode()


GOOD = encode_cursor("nodes", 5, 7)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "!!!!",
        "é",
        "\ud800",
        GOOD + "=",
        GOOD + "\n",
        " " + GOOD,
        GOOD[:-1],
        GOOD + "A",
        pytest.param("A" * (MAX_CURSOR_LENGTH + 1), id="too long"),
        raw([]),
        raw(["nodes"]),
        raw({"nodes": 5}),
        raw("nodes"),
        raw(["nodes", 5]),
        raw(["nodes", 5, "7"]),
        raw(["nodes", 5, 7, 8]),
        raw(["nodes", 5, 7.0]),
        raw(["nodes", 5, True]),
        raw(["nodes", 5, None]),
        raw(["nodes", 5, [7]]),
        raw(["nodes", 5, MAX_ID + 1]),
        raw(["nodes", "5", 7]),
        raw(["nodes", True, 7]),
        raw(["nodes", 5.0, 7]),
        raw([["nodes"], 5, 7]),
        base64.urlsafe_b64encode(b'["nodes", 5, 7]').decode().rstrip("="),
        base64.urlsafe_b64encode(b'["nodes",5,' + b"9" * 40 + b"]").decode().rstrip("="),
        pytest.param(base64.urlsafe_b64encode(b"[" * 3000).decode(), id="deep"),
        base64.urlsafe_b64encode(b"\xff\xfe").decode().rstrip("="),
    ],
)
@pytest.mark.parametrize("at", [5, None])
def test_garbage_is_refused(text: str, at: int | None) -> None:
    with pytest.raises(InvalidCursor, match="Pass a cursor that this list gave") as refused:
        decode_cursor(text, "nodes", at, (int,))
    assert refused.value.path == ("after",)


@pytest.mark.parametrize(
    ("kind", "at", "shape", "reason"),
    [
        ("edges", 5, (int,), "another list"),
        ("nodes", 6, (int,), "another instant"),
        ("nodes", 5, (str,), "no cursor of this list"),
        ("nodes", 5, (int, int), "no cursor of this list"),
        ("nodes", 5, (), "no cursor of this list"),
        ("nodes", 5, (str, ...), "no cursor of this list"),
    ],
)
def test_a_cursor_of_something_else_is_refused(
    kind: str, at: int, shape: Shape, reason: str
) -> None:
    with pytest.raises(InvalidCursor, match=reason):
        decode_cursor(GOOD, kind, at, shape)


@pytest.mark.parametrize("at", [EARLIEST - 1, LATEST + 1])
def test_an_instant_out_of_range_is_refused(at: int) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(raw(["nodes", at, 7]), "nodes", None, (int,))


@given(st.text() | st.binary().map(lambda b: base64.urlsafe_b64encode(b).decode().rstrip("=")))
def test_whatever_is_given_is_refused_or_canonical(text: str) -> None:
    try:
        at, position = decode_cursor(text, "nodes", None, (int, ...))
    except InvalidCursor:
        return
    assert encode_cursor("nodes", at, *position) == text


@given(st.integers(0, LATEST), st.integers(0, MAX_ID))
def test_event_cursors_round_trip(at: int, ordinal: int) -> None:
    assert decode_event_cursor(encode_event_cursor(at, ordinal)) == (at, ordinal)


def test_an_event_cursor_is_legible() -> None:
    assert encode_event_cursor(1_714_555_800_123_456, 3) == "1714555800123456-3"
    assert decode_event_cursor("0-0") == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "5",
        "5-",
        "-5",
        "5--1",
        "05-1",
        "5-01",
        "-0-1",
        "-1-0",
        "5--0",
        "+5-1",
        "5-1 ",
        "5-1\n",
        "5-1-2",
        "٥-1",
        "5.0-1",
        f"{LATEST + 1}-0",
        f"{EARLIEST - 1}-0",
        f"5-{MAX_ID + 1}",
        pytest.param("9" * 5000 + "-1", id="5,000 digits"),
        GOOD,
    ],
)
def test_event_garbage_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor, match="no event cursor") as refused:
        decode_event_cursor(text)
    assert refused.value.path == ("after",)


def test_an_empty_shape_is_a_cursor_of_the_instant_alone() -> None:
    expected: tuple[Any, ...] = ()
    assert decode_cursor(encode_cursor("fleet", 5), "fleet", 5, ()).position == expected
