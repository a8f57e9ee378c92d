"""Values on their way between a driver, the server's types and SQLite's.

An instant (DATETIME2) is kept as nine bytes, `T` and the microseconds since year 1: these sort as
instants do, and are never taken for a number or a text.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.missing import driver_manager
from tests.tsql.errors import ServerError

_YEAR_1 = datetime(1, 1, 1)  # noqa: DTZ001 (DATETIME2 knows no zone)
_EPOCH_MICROS = (datetime(1970, 1, 1) - _YEAR_1) // timedelta(microseconds=1)  # noqa: DTZ001
_TEXT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?)?")
_MARK = b"T"
END_OF_TIME = datetime.max  # noqa: DTZ901 (the same)


def instant(moment: datetime) -> bytes:
    """The nine bytes of a moment without a zone."""
    if moment.tzinfo is not None:
        raise NotImplementedError("a datetime with a zone is bound as DATETIMEOFFSET")
    return _bytes((moment - _YEAR_1) // timedelta(microseconds=1))


def instant_of_micros(micros: int) -> bytes:
    """The same of microseconds since 1970."""
    return _bytes(micros + _EPOCH_MICROS)


def micros_of(value: bytes) -> int:
    """The microseconds since 1970 of an instant."""
    return int.from_bytes(value[1:], "big") - _EPOCH_MICROS


def is_instant(value: object) -> bool:
    """Whether a value of SQLite's is an instant."""
    return isinstance(value, bytes) and len(value) == 9 and value[:1] == _MARK


def as_instant(value: object) -> bytes | None:
    """What the server makes of a value where it wants a DATETIME2(6).

    A seventh digit is rounded.  Numbers are refused: the server would, too.
    """
    if value is None or (isinstance(value, bytes) and is_instant(value)):
        return value
    if not isinstance(value, str):
        raise ServerError(206, f"Operand type clash: {type(value).__name__} is no datetime2")
    found = _TEXT.fullmatch(value.strip())
    if found is None:
        raise ServerError(241, "Conversion failed when converting date and/or time from string.")
    try:
        whole = datetime.fromisoformat(f"{found[1]} {found[2] or '00:00:00'}")
    except ValueError as error:
        raise ServerError(242, "The conversion resulted in an out-of-range value.") from error
    tenths = int((found[3] or "").ljust(7, "0"))
    return _bytes((whole - _YEAR_1) // timedelta(microseconds=1) + (tenths + 5) // 10)


def bound(value: object) -> Any:
    """A parameter as the driver binds it, for SQLite."""
    if isinstance(value, datetime):
        return instant(value)
    if value is driver_manager().BinaryNull:
        return None
    if isinstance(value, bytearray):
        value = bytes(value)
    if isinstance(value, Decimal):
        raise NotImplementedError("decimals are not known here")
    if isinstance(value, bytes) and is_instant(value):
        raise NotImplementedError("nine bytes that look like an instant of the stand-in")
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    raise NotImplementedError(f"a parameter of {type(value).__name__}")


def fetched(value: Any) -> Any:
    """A value of SQLite's as the driver hands it out."""
    if is_instant(value):
        return _YEAR_1 + timedelta(microseconds=int.from_bytes(value[1:], "big"))
    return value


def _bytes(micros: int) -> bytes:
    return _MARK + micros.to_bytes(8, "big")
