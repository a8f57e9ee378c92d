"""JSON on the wire: read strictly, written fast."""

from __future__ import annotations

import json
from collections.abc import Iterable

import orjson

from retrograph.rules.canonical_json import MAX_NESTING

MAX_LEVELS = 2 * MAX_NESTING
"""Levels of a request: what reads it further recurses, and must not run out of stack."""

_NONE, _TOO_DEEP = "no JSON in UTF-8", f"nested deeper than {MAX_LEVELS} levels; flatten it"


class NotJson(ValueError):
    """The text is no JSON, or is nested deeper than `MAX_LEVELS`; its words say which it is."""


def read_json(data: bytes | str) -> object:
    """The value of a JSON text in UTF-8; raises `NotJson`.

    Lone surrogates, which JSON can spell and Unicode can't, are let through: whoever stores text
    refuses them by the name of the field.
    """
    value = _parsed(data)
    if _opened(data) > MAX_LEVELS and _is_deep(value):
        raise NotJson(_TOO_DEEP)
    return value


def _parsed(data: bytes | str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # By itself the library would take bytes of UTF-16 and UTF-32, too.
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise NotJson(_TOO_DEEP) from None
    except ValueError:
        raise NotJson(_NONE) from None


def _opened(data: bytes | str) -> int:
    """How many brackets open: most requests have too few to be deep."""
    if isinstance(data, str):
        return data.count("[") + data.count("{")
    return data.count(b"[") + data.count(b"{")


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_LEVELS + 1):
        holders = [each for each in level if isinstance(each, dict | list)]
        if not holders:
            return False
        level = [inner for each in holders for inner in _inside(each)]
    return True


def _inside(holder: dict[str, object] | list[object]) -> Iterable[object]:
    return holder.values() if isinstance(holder, dict) else holder


def embedded(text: object) -> orjson.Fragment:
    """JSON that is text already, as `write_json` puts it into a response."""
    if not isinstance(text, str):
        raise TypeError(f"JSON is kept as text, not as {type(text).__name__}")
    return orjson.Fragment(str(text))  # of a subclass orjson takes nothing


def write_json(value: object) -> bytes:
    """The UTF-8 text of a JSON value, in which JSON may be `embedded`."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(value, separators=(",", ":"), default=_unpacked).encode()


def _unpacked(fragment: object) -> object:
    return json.loads(orjson.dumps(fragment))


def _refuse(constant: str) -> object:
    raise NotJson(constant)
