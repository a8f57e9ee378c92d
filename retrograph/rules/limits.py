"""The limits of what a caller may ask for or store, and the checks that keep them.

Each check returns the value it was given, or raises `InvalidInput` with the field's path.
"""

from __future__ import annotations

import re

from retrograph.rules.errors import FieldPath, InvalidInput

MAX_FIRST = 1_000
"""Rows of one page."""
MAX_WALK_DEPTH = 64
"""Edges from the start of a walk."""
MAX_PATH_DEPTH = 20
"""Edges of one path in a search for all paths."""
MAX_BATCH = 1_000
"""Items of one mutation."""
MAX_IMPACTS = 1_000_000
"""Impacts of one run."""
MAX_PAYLOAD_BYTES = 1_048_576
"""Bytes of a payload's canonical JSON."""
MAX_KEY_LENGTH = 1_000
"""Characters of a node's key."""
MAX_TEXT_LENGTH = 10_000
"""Characters of a reason, a note or a URI."""
MAX_COST = 250_000
"""What one operation may cost, where nothing else is set: about the fields that it may give."""
OPERATION_SECONDS = 30
"""How long one operation may take, where nothing else is set."""
MIN_ID = -(2**63)
MAX_ID = 2**63 - 1

# One spelling an id: no plus sign, no leading zero, no minus zero, ASCII digits.
_CANONICAL_ID = re.compile(r"0|-?[1-9][0-9]{0,18}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_first(first: int, most: int = MAX_FIRST, *, field: FieldPath = ("first",)) -> int:
    """The size of a page: 1 to `most` rows."""
    return _between(first, most, field)


def check_depth(depth: int, most: int = MAX_WALK_DEPTH, *, field: FieldPath = ("maxDepth",)) -> int:
    """The depth of a walk or the length of a path: 1 to `most` edges."""
    return _between(depth, most, field)


def check_batch(size: int, most: int = MAX_BATCH, *, field: FieldPath = ()) -> int:
    """The number of items in one request: 1 to `most`."""
    if not 1 <= size <= most:
        raise InvalidInput(f"{size:,} items; give 1 to {most:,} at once.", path=field)
    return size


def check_text(
    value: object, field: FieldPath, most: int = MAX_TEXT_LENGTH, *, required: bool = True
) -> str:
    """A text of at most `most` characters; where `required`, not only white space.

    NUL and lone surrogates are refused: no engine stores them faithfully.
    """
    if not isinstance(value, str):
        raise InvalidInput("Give a string.", path=field)
    if required and not value.strip():
        raise InvalidInput("Give a text; it must hold more than white space.", path=field)
    if len(value) > most:
        raise InvalidInput(f"{len(value):,} characters; give at most {most:,}.", path=field)
    fault = unstorable(value)
    if fault:
        raise InvalidInput(fault, path=field)
    return value


def unstorable(text: str) -> str | None:
    """Why no engine would store this text faithfully, or None if every one does."""
    if "\0" in text:
        return "The text holds a NUL character; remove it."
    if _SURROGATE.search(text):
        return "The text holds a lone surrogate, which is no character; remove it."
    return None


def check_confidence(value: object, field: FieldPath = ("confidence",)) -> float:
    """A confidence: a number from 0 to 1, neither NaN nor infinite."""
    is_truth = isinstance(value, bool)
    if isinstance(value, int | float) and not is_truth and 0 <= value <= 1:  # NaN is not
        return float(value)
    raise InvalidInput("Give a finite number from 0 to 1, both included.", path=field)


def check_id(value: object, field: FieldPath = ("id",)) -> int:
    """A signed 64-bit id, from an `int` or from its one canonical decimal spelling."""
    number = _integer(value)
    if number is None:
        raise InvalidInput(
            "Give an id: a 64-bit integer in decimal digits, without sign +, spaces or leading "
            "zeros.",
            path=field,
        )
    return number


def check_long(value: object, field: FieldPath = ()) -> int:
    """A signed 64-bit integer, from an `int` or from its one canonical decimal spelling."""
    number = _integer(value)
    if number is None:
        raise InvalidInput(
            "Give a 64-bit integer in decimal digits, best as a string, without sign +, spaces or "
            "leading zeros.",
            path=field,
        )
    return number


def _integer(value: object) -> int | None:
    if isinstance(value, str) and _CANONICAL_ID.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_ID <= value <= MAX_ID:
        return None
    return value


def _between(value: int, most: int, field: FieldPath) -> int:
    if not 1 <= value <= most:
        raise InvalidInput(f"{value:,} is out of range; give 1 to {most:,}.", path=field)
    return value
