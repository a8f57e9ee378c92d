"""Each check passes what is in its bounds, both ends included, and names the field otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules import limits
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import (
    check_batch,
    check_confidence,
    check_depth,
    check_first,
    check_id,
    check_text,
)


@pytest.mark.parametrize(
    ("check", "most", "path"),
    [
        (check_first, limits.MAX_FIRST, ("first",)),
        (check_depth, limits.MAX_WALK_DEPTH, ("maxDepth",)),
        (check_batch, limits.MAX_BATCH, ()),
    ],
)
def test_counts_run_from_one_to_their_limit(
    check: Callable[[int], int], most: int, path: tuple[str, ...]
) -> None:
    assert check(1) == 1
    assert check(most) == most
    for wrong in (-1, 0, most + 1, 2**31 - 1):
        with pytest.raises(InvalidInput, match=f"give 1 to {most:,}") as refused:
            check(wrong)
        assert refused.value.path == path


def test_another_limit_and_another_field() -> None:
    assert check_depth(limits.MAX_PATH_DEPTH, limits.MAX_PATH_DEPTH) == limits.MAX_PATH_DEPTH
    with pytest.raises(InvalidInput) as refused:
        check_depth(21, limits.MAX_PATH_DEPTH, field=("paths", "maxDepth"))
    assert refused.value.path == ("paths", "maxDepth")
    with pytest.raises(InvalidInput):
        check_batch(101, 100, field=("limit",))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).filter(str.strip))
def test_text_is_given_back(text: str) -> None:
    assert check_text(text, ("reason",)) == text


def test_white_space_around_a_text_is_kept() -> None:
    assert check_text(" x\n", ("reason",)) == " x\n"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "more than white space"),
        (" ", "more than white space"),
        ("\t\r\n\u00a0\u2003\u3000", "more than white space"),
        ("a\0b", "NUL"),
        ("a\ud800", "surrogate"),
        ("\udfff", "surrogate"),
        ("x" * 11, "at most 10"),
        (5, "Give a string"),
        (None, "Give a string"),
        (b"x", "Give a string"),
    ],
)
def test_text_refused(value: object, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        check_text(value, ("input", "reason"), 10)
    assert refused.value.path == ("input", "reason")


@pytest.mark.parametrize("text", ["", " "])
def test_text_may_be_empty_where_not_required(text: str) -> None:
    assert check_text(text, ("note",), required=False) == text


def test_length_counts_characters() -> None:
    assert check_text("😀" * 10, ("key",), 10) == "😀" * 10


@given(st.floats(0, 1) | st.integers(0, 1))
def test_confidence_is_a_float(value: float) -> None:
    checked = check_confidence(value)
    assert checked == value
    assert type(checked) is float


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        -1e-9,
        1.0000001,
        2,
        -1,
        10**400,
        pytest.param(10**5000, id="huge"),
        True,
        "0.5",
        None,
    ],
)
def test_no_confidence(value: object) -> None:
    with pytest.raises(InvalidInput, match="finite number from 0 to 1") as refused:
        check_confidence(value)
    assert refused.value.path == ("confidence",)


@given(st.integers(limits.MIN_ID, limits.MAX_ID))
def test_ids_from_numbers_and_their_text(number: int) -> None:
    assert check_id(number) == check_id(str(number)) == number


@pytest.mark.parametrize(
    "value",
    [
        "+1",
        " 1",
        "1 ",
        "1\n",
        "١",
        "1.0",
        "1e3",
        "",
        "01",
        "-0",
        "-",
        "0x1",
        "1_000",
        "9223372036854775808",
        "-9223372036854775809",
        pytest.param("9" * 5000, id="5,000 digits"),
        2**63,
        -(2**63) - 1,
        True,
        1.0,
        None,
    ],
)
def test_no_id(value: object) -> None:
    with pytest.raises(InvalidInput, match="64-bit") as refused:
        check_id(value, ("by", "id"))
    assert refused.value.path == ("by", "id")
