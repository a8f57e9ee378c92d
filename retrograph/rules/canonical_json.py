"""Canonical JSON (RFC 8785): one text for one value, so that equal content is equal bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import orjson
import rfc8785

from retrograph.rules.errors import FieldPath, InvalidInput
from retrograph.rules.limits import MAX_PAYLOAD_BYTES, unstorable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_SAFE_INTEGER = 2**53 - 1
"""The last integer that every JSON reader gives back exactly."""
MAX_NESTING = 200
"""Arrays and objects inside one another, empty ones too."""
_Holder = dict[object, object] | list[object] | tuple[object, ...]

_FAST = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_SCALARS = frozenset({str, int, bool, type(None)})
_NUL = b"\\u0000"


def canonical_json(
    value: object, *, field: FieldPath = ("payload",), most: int = MAX_PAYLOAD_BYTES
) -> str:
    """The RFC 8785 text of a JSON value, of at most `most` UTF-8 bytes.

    Refused with `InvalidInput`: NaN and infinities, numbers that are integral beyond 2^53 - 1
    however spelt, NUL and lone surrogates in strings or keys, keys that are no strings, nesting
    over 200, values that are no JSON; with the code `PAYLOAD_TOO_LARGE`: over `most` bytes.
    """
    encoded = _fast(value)
    if encoded is None:
        _check(value, field, most)
        encoded = rfc8785.dumps(value)  # type: ignore[arg-type]  # _check leaves only JSON
    if len(encoded) > most:
        raise _too_large(field, most)
    return encoded.decode()


def payload_text(
    value: object, *, field: FieldPath = ("payload",), most: int = MAX_PAYLOAD_BYTES
) -> str:
    """The canonical text of a checkpoint's payload, whether committed or upcast: null is none.

    Refused with `InvalidInput`: null, and what `canonical_json` refuses.
    """
    if value is None:
        raise InvalidInput("A payload is not null; give the state.", path=field)
    return canonical_json(value, field=field, most=most)


def _fast(value: object) -> bytes | None:
    """The same bytes several times faster, where that is certain; None: take the careful way.

    The two agree on strings, safe integers and ASCII keys; orjson writes floats, and sorts keys
    beyond the basic plane, in another way (test_canonical_json proves the agreement).
    """
    if not _is_plain(value, MAX_NESTING):
        return None
    try:
        encoded = orjson.dumps(value, option=_FAST)
    except orjson.JSONEncodeError:
        return None
    return None if _NUL in encoded else encoded


def _is_plain(value: object, nesting: int) -> bool:
    """Whether `value` holds nothing but what the fast way writes canonically."""
    if type(value) in _SCALARS:
        return True
    if nesting == 0:
        return False
    if type(value) is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        items: Iterable[object] = value.values()
    elif type(value) is list:
        items = value
    else:
        return False
    for item in items:  # a loop is faster than all() here, and this is an import's inner loop
        if type(item) not in _SCALARS and not _is_plain(item, nesting - 1):
            return False
    return True


def _check(value: object, field: FieldPath, most: int) -> None:
    """Refuse what canonical JSON can't say, one level of nesting at a time."""
    level, seen = [value], 0
    for _ in range(MAX_NESTING + 1):
        seen += len(level)
        if seen > most:  # a value takes a byte at least
            raise _too_large(field, most)
        for item in level:
            fault = _fault(item)
            if fault:
                raise InvalidInput(fault, path=field)
        holders = [item for item in level if isinstance(item, dict | list | tuple)]
        if not holders:
            return
        level = [child for each in holders for child in _children(each)]
    raise InvalidInput(f"Nested deeper than {MAX_NESTING}; flatten it.", path=field)


def _children(holder: _Holder) -> Iterable[object]:
    return holder.values() if isinstance(holder, dict) else holder


def _fault(value: object) -> str | None:
    if isinstance(value, str):
        return unstorable(value)
    if isinstance(value, dict):
        return next(_faults_of_keys(value), None)
    if isinstance(value, int | float):
        return _fault_of_number(value)
    if value is None or isinstance(value, list | tuple):
        return None
    return f"{type(value).__name__} is no JSON type; give what JSON can say."


def _faults_of_keys(value: dict[object, object]) -> Iterator[str]:
    for key in value:
        fault = unstorable(key) if isinstance(key, str) else "A key is no string; make it one."
        if fault:
            yield fault


def _fault_of_number(number: object) -> str | None:
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN and infinities are no JSON numbers; give null or a string."
    # Every float beyond 2^53 is integral.
    if isinstance(number, int | float) and abs(number) > MAX_SAFE_INTEGER:
        return "A number is an integer beyond 2^53 - 1, which JSON readers round; give a string."
    return None


def _too_large(field: FieldPath, most: int) -> InvalidInput:
    return InvalidInput(
        f"More than {most:,} bytes of canonical JSON; make it smaller.",
        path=field,
        code="PAYLOAD_TOO_LARGE",
    )
