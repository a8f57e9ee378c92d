"""How many tokens a text has: an interface, and the estimate that needs no vocabulary."""

from __future__ import annotations

from collections.abc import Callable

TokenCounter = Callable[[str], int]
"""Tells the tokens of a text: 0 for the empty one, and no more where some of it is left out."""

_BYTES_A_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """⌈UTF-8 bytes / 4⌉: what texts in Latin script come to, and too many rather than too few."""
    return -(-len(text.encode()) // _BYTES_A_TOKEN)
