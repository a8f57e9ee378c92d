"""Functions of T-SQL for SQLite: each does what the server's does, or refuses."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from tests.tsql.errors import ServerError
from tests.tsql.values import as_instant, instant_of_micros, is_instant, micros_of

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_INT = 2**31
_HALF = "\ufdd5"
_SURROGATE = re.compile("[\ud800-\udfff]")


class Surroundings(Protocol):
    """What functions ask of the session they run in."""

    error: Exception | None
    """What a function raised: SQLite only tells that one did."""

    def now(self) -> int:
        """The server's time (microseconds since 1970)."""

    def began(self) -> int:
        """The instant of the transaction."""

    def session_context(self, key: str) -> Any:
        """A value of the session, None if there is none."""

    def object_id(self, name: str, kind: str) -> int | None:
        """A number for what exists, None for what does not."""

    def next_token(self) -> bytes:
        """A ROWVERSION that nobody has had."""

    def least_active(self) -> bytes:
        """The least ROWVERSION of a transaction that is not committed, or the next one."""


def register(connection: sqlite3.Connection, session: Surroundings) -> None:
    """Makes the functions known to a connection."""

    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception as error:
                session.error = error
                raise

        return call

    for name, function in _PURE.items():
        connection.create_function(name, -1, guarded(function), deterministic=True)
    of_session: dict[str, Callable[..., Any]] = {
        "sysutcdatetime": lambda: instant_of_micros(session.now()),
        "session_context": session.session_context,
        "object_id": session.object_id,
        "tx_began": lambda: instant_of_micros(session.began()),
        "tx_closes": lambda start: _closes(start, session.began()),
        "next_token": session.next_token,
        "min_active_rowversion": session.least_active,
    }
    for name, function in of_session.items():
        same = "token" not in name  # what the others tell is the same all through a statement
        connection.create_function(name, -1, guarded(function), deterministic=same)
    connection.create_aggregate("string_agg", 3, _StringAgg)  # type: ignore[arg-type]
    connection.create_collation("PADDED", _padded)


def _closes(start: bytes, began: int) -> bytes:
    """The end of a version that a transaction closes, which can't be before its start."""
    if micros_of(start) > began:
        raise ServerError(
            13535,
            "Data modification failed on system-versioned table because transaction time was "
            "earlier than period start time for affected records.",
        )
    return instant_of_micros(began)


def _padded(one: str, other: str) -> int:
    """Compares by code units, the shorter text filled with spaces."""
    if one == other:
        return 0
    width = max(len(one), len(other)) * 2
    left, right = (text.encode("utf-16-be", "surrogatepass") for text in (one, other))
    left, right = (_filled(text, width * 2) for text in (left, right))
    return (left > right) - (left < right)


def _filled(text: bytes, width: int) -> bytes:
    return text + b"\0 " * ((width - len(text)) // 2)


def _choose(place: int | None, *values: Any) -> Any:
    return values[place - 1] if place is not None and 1 <= place <= len(values) else None


def _concat(*values: Any) -> str:
    return "".join(_text(value) or "" for value in values)


def _text(value: Any, most: int | None = None) -> str | None:
    """A value as text of at most so many characters; what would not fit a number is refused."""
    if isinstance(value, (float, bytes)):
        raise NotImplementedError(f"the text of a {type(value).__name__}")
    if value is None:
        return None
    text = str(value)
    if most is not None and not isinstance(value, str) and len(text) > most:
        raise ServerError(8115, "Arithmetic overflow error converting expression to varchar.")
    return text if most is None else _cut(text, most)


def _cut(text: str, units: int) -> str:
    """The first code units of a text; half a character becomes one that no text has."""
    if _HALF in text:
        raise NotImplementedError("a text with U+FDD5")
    cut = text.encode("utf-16-le", "surrogatepass")[: units * 2]
    return _SURROGATE.sub(_HALF, cut.decode("utf-16-le", "surrogatepass"))


def _integer(value: Any, bits: int) -> int | None:
    if value is None:
        return None
    if is_instant(value):
        raise ServerError(529, "Explicit conversion from datetime2 to a number is not allowed.")
    if isinstance(value, bytes):  # the last bytes, as many as the number has
        return int.from_bytes(value[-bits // 8 :], "big", signed=True)
    try:
        number = int(value.strip() or 0) if isinstance(value, str) else int(value)
    except ValueError as error:
        raise ServerError(8114, f"Error converting {value!r} to a number.") from error
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ServerError(8115, "Arithmetic overflow error converting to a number.")
    return number


def _number(value: Any) -> Any:
    """An operand of an addition: of texts it would join them."""
    if value is None or isinstance(value, (int, float)):
        return value
    raise NotImplementedError(f"+ with a {type(value).__name__}")


def _binary(value: Any, length: int) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return None if value is None else value[:length].ljust(length, b"\0")
    raise NotImplementedError(f"BINARY of a {type(value).__name__}")


def _hash(kind: str, encoding: str, text: str | None) -> bytes | None:
    if kind.upper() != "SHA2_256":
        raise NotImplementedError(f"HASHBYTES of {kind}")
    return None if text is None else hashlib.sha256(text.encode(encoding)).digest()


def _length(text: str | None) -> int | None:
    return None if text is None else _units(text.rstrip(" "))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _datalength(text: str | None) -> int | None:
    if text is None or isinstance(text, str):
        return None if text is None else _units(text) * 2
    raise NotImplementedError(f"DATALENGTH of a {type(text).__name__}")


def _dateadd(part: str, count: int | None, start: bytes | None) -> bytes | None:
    if count is None or start is None:
        return None
    if not -_INT <= count < _INT:
        raise ServerError(8115, "Arithmetic overflow error converting expression to int.")
    moment = as_instant(start)
    assert moment is not None
    return instant_of_micros(micros_of(moment) + count * _UNITS[part])


def _datediff(part: str, start: bytes | None, end: bytes | None) -> int | None:
    """How many borders of the unit lie between."""
    ends = [as_instant(value) for value in (start, end)]
    first, last = (None if each is None else micros_of(each) // _UNITS[part] for each in ends)
    return None if first is None or last is None else last - first


def _like(text: str | None, pattern: str | None, escape: str | None) -> bool | None:
    if text is None or pattern is None:
        return None
    return _pattern(pattern, escape).fullmatch(text) is not None


@cache
def _pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    parts, signs = [], iter(pattern)
    wild = {"%": ".*", "_": "."}
    for sign in signs:
        if sign == escape:
            parts.append(re.escape(next(signs)))
        elif sign == "[":  # of one character, which stands for itself
            one, end = next(signs, ""), next(signs, "")
            if end != "]" or one == "^":
                raise NotImplementedError("a class of characters in LIKE")
            parts.append(re.escape(one))
        else:
            parts.append(wild.get(sign) or re.escape(sign))
    return re.compile("".join(parts), re.DOTALL)


def _hex(value: bytes | None) -> str | None:
    if is_instant(value):
        raise NotImplementedError("the bytes of an instant")
    return None if value is None else value.hex().upper()


def _json_text(value: Any, most: int) -> str | None:
    """A text out of JSON; the server's way with one that is too long is not known here."""
    if isinstance(value, str) and _units(value) > most:
        raise NotImplementedError("OPENJSON of a text that is longer than its column")
    return _text(value)


_PURE: dict[str, Callable[..., Any]] = {
    "as_instant": as_instant,
    "choose": _choose,
    "concat": _concat,
    "datalength": _datalength,
    "dateadd": _dateadd,
    "datediff_big": _datediff,
    "db_id": lambda: 1,
    "hashbytes": _hash,
    "hex_of": _hex,
    "json_text": _json_text,
    "left_of": lambda text, count: None if text is None else _cut(text, count),
    "len": _length,
    "lower": lambda text: None if text is None else text.lower(),
    "number": _number,
    "to_binary": _binary,
    "to_integer": _integer,
    "to_text": _text,
    "tsql_like": _like,
    "units_of": lambda text: None if text is None else _units(text),
    "upper": lambda text: None if text is None else text.upper(),
}


class _StringAgg:
    def __init__(self) -> None:
        self._parts: list[tuple[Any, str]] = []
        self._separator = ""

    def step(self, value: str | None, separator: str, order: Any) -> None:
        self._separator = separator
        if value is not None:
            self._parts.append((order, value))

    def finalize(self) -> str | None:
        if not self._parts:
            return None
        return self._separator.join(value for _, value in sorted(self._parts))
