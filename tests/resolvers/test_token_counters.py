"""Counting tokens: the estimate, an encoding where there is one, and what is said where not."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from retrograph.resolvers.token_counters import find_counter
from retrograph.rules.errors import ConfigurationError
from retrograph.rules.tokens import estimate_tokens


class Words:
    """An encoding of one token a word."""

    def encode(self, text: str, *, disallowed_special: Any) -> list[str]:
        assert disallowed_special == ()
        return text.split()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A library that knows one encoding, whether or not the true one is installed."""

    def get_encoding(name: str) -> Words:
        if name != "words":
            raise ValueError(f"Unknown encoding {name}")
        return Words()

    made = ModuleType("tiktoken")
    made.get_encoding = get_encoding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", made)
    return made


def test_the_estimate_needs_nothing() -> None:
    assert find_counter("estimate") is estimate_tokens


@pytest.mark.usefixtures("library")
def test_an_encoding_counts() -> None:
    assert find_counter("words")("<|endoftext|> is a text") == 4


@pytest.mark.usefixtures("library")
def test_an_unknown_encoding_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Unknown encoding sentences"):
        find_counter("sentences")


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ConfigurationError, match=r"install the extra tokens"):
        find_counter("o200k_base")
