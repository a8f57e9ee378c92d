"""One line of JSON, read strictly."""

from __future__ import annotations

import json

import orjson

from retrograph.rules.canonical_json import MAX_NESTING
from retrograph.rules.errors import InvalidInput

_TOO_DEEP = f"Nested deeper than {MAX_NESTING}; flatten it."


def read_json(line: bytes) -> object:
    """The JSON value of a line; raises `InvalidInput`.

    Refused: what is no UTF-8, no JSON (NaN and lone surrogates are none), what is nested so
    deeply that no payload may be, and an object that has a key twice, of which one would silently
    be lost.
    """
    try:
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(_fault(line, error)) from None
    try:
        plain = _is_written_as(value, line)
    except orjson.JSONEncodeError:  # it reads 1,024 levels, and writes 254
        raise InvalidInput(_TOO_DEEP) from None
    if not plain:
        json.loads(line, object_pairs_hook=_distinct)
    return value


def _is_written_as(value: object, line: bytes) -> bool:
    """Whether the line is what common writers make of the value: no key is lost in that."""
    text, written = line.strip(), orjson.dumps(value)
    return written == text or written == text.replace(b'": ', b'":').replace(b", ", b",")


def _distinct(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InvalidInput(f"An object has the key {key[:40]!a} twice; give it once.")
        seen.add(key)


def _fault(line: bytes, error: orjson.JSONDecodeError) -> str:
    if "limit" in error.msg:  # there is one limit: that of nesting
        return _TOO_DEEP
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        return f"It is no UTF-8 text (byte {wrong.start + 1})."
    return f"It is no JSON: {error}."
