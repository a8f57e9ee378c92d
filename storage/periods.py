"""The columns in which instants are kept, where they are no integers.

Everywhere else an instant is an integer of UTC microseconds, on every engine.  An engine that
versions rows by itself has the periods of versions in a type of its own, and SQL Server all
instants; in statements and results they are the same integers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Dialect,
    TypeDecorator,
    cast,
    func,
    literal_column,
)
from sqlalchemy.dialects import mssql
from sqlalchemy.types import DateTime, LargeBinary, TypeEngine

from retrograph.rules.instant import EARLIEST, EPOCH, LATEST, MICROSECOND, format_instant

_DATETIME2: TypeEngine[Any] = mssql.DATETIME2(6)  # type: ignore[no-untyped-call]
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
        return None if value is None else micros_of(value)


class DateTime2(TypeDecorator[int]):
    """SQL Server's `DATETIME2(6)`, as microseconds.

    Drivers differ in how many digits of a bound datetime they keep, so a text is bound, and the
    server makes the instant of it.
    """

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """The text of the instant; what no instant can be is compared like the nearest one."""
        if value is None:
            return None
        return format_instant(min(max(value, EARLIEST), LATEST)).removesuffix("Z")

    def bind_expression(self, bindparam: BindParameter[int]) -> ColumnElement[int]:
        """What the server makes of the bound text."""
        return cast(bindparam, _DATETIME2)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:  # noqa: ARG002
        """The microseconds of a datetime, which is UTC in every column."""
        return None if value is None else micros_of(value)


def bare_place(kind: TypeEngine[Any], dialect: Dialect) -> tuple[str, Callable[[Any], Any] | None]:
    """How a bare statement takes a value for a column: its place in the text, what is passed.

    None: the value as it is.
    """
    known = kind.dialect_impl(dialect)
    if isinstance(known, LargeBinary):
        return "?", known.bind_processor(dialect)  # type: ignore[no-untyped-call]
    if not isinstance(known, DateTime2):
        return "?", None
    return "CAST(? AS DATETIME2(6))", lambda value: known.process_bind_param(value, dialect)


def micros_of(value: Any) -> int:
    """The microseconds of a datetime that a server keeps in UTC and names without a zone."""
    micros: int = (value.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
    return micros
