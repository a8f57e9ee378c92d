"""JSON on the wire: read strictly, written fast."""

from __future__ import annotations

import json

import orjson


class NotJson(ValueError):
    """The text is no JSON."""


def read_json(data: bytes | str) -> object:
    """The value of a JSON text in UTF-8; raises `NotJson`.

    Lone surrogates, which JSON can spell and Unicode can't, are let through: whoever stores text
    refuses them by the name of the field.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        # By itself the library would take bytes of UTF-16 and UTF-32, too.
        text = data if isinstance(data, str) else data.decode()
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise NotJson from None


def embedded(text: object) -> orjson.Fragment:
    """JSON that is text already, as `write_json` puts it into a response."""
    if not isinstance(text, str):
        raise TypeError(f"JSON is kept as text, not as {type(text).__name__}")
    return orjson.Fragment(text)


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
