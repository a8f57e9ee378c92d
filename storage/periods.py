"""The columns in which versions keep when they began and ended.

Everywhere else an instant is an integer of UTC microseconds, on every engine.  An engine that
versions rows by itself has these in a type of its own; in statements and results they are the
same integers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Dialect,
    TypeDecorator,
    func,
    literal_column,
)
from sqlalchemy.types import DateTime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS: ColumnElement[int] = literal_column("0.000001")


class TimestampPeriod(TypeDecorator[int]):
    """MariaDB's `TIMESTAMP(6)`, as microseconds.

    The driver drops the microseconds of bound datetimes, so the number itself is bound, and the
    server makes the timestamp of it: exactly, since the factor is a decimal.
    """

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """The number as it is; see `bind_expression`."""
        return value

    def bind_expression(self, bindparam: BindParameter[int]) -> ColumnElement[int]:
        """What the server makes of the bound number."""
        return func.from_unixtime(bindparam * _SECONDS)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002
        """The microseconds of a timestamp, which is UTC in every session."""
        return None if value is None else (value.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
