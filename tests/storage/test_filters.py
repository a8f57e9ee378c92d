"""The end of the range of a key prefix, in the order of UTF-8 bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrograph.storage.filters import after_prefix

EDGES = st.sampled_from("ab\0\x7f\x80\ud7ff\ue000\uffff\U00010000\U0010fffe\U0010ffff")
TEXTS = st.text(EDGES | st.characters(exclude_categories=["Cs"]), max_size=4)


def _is_within(text: str, prefix: str) -> bool:
    end = after_prefix(prefix)
    return prefix.encode() <= text.encode() and (end is None or text.encode() < end.encode())


@given(TEXTS, TEXTS)
def test_a_text_is_in_the_range_if_it_has_the_prefix(prefix: str, text: str) -> None:
    assert _is_within(text, prefix) == text.startswith(prefix)


@given(TEXTS, TEXTS)
def test_whatever_follows_the_prefix_is_in_the_range(prefix: str, rest: str) -> None:
    assert _is_within(prefix + rest, prefix)


def test_nothing_follows_the_greatest_texts() -> None:
    assert after_prefix("") is None
    assert after_prefix("\U0010ffff\U0010ffff") is None
    assert after_prefix("a\U0010ffff") == "b"
    assert after_prefix("\ud7ff") == "\ue000"
