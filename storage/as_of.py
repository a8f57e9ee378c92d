"""Tables as of an instant: the one construct in which the engines' time travel differs.

A profile's `arms` are the places where versions visible at an instant live.  A statement is built
once per arm and the arms are joined by UNION ALL (an engine with native `FOR SYSTEM_TIME AS OF`
gives a single arm).  On SQLite the arms are explicit because its planner materialises a UNION ALL
view before it joins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CompoundSelect,
    FromClause,
    Select,
    Table,
    TableClause,
    bindparam,
    column,
    func,
    literal,
    select,
    type_coerce,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.visitors import InternalTraversal

from retrograph.storage.aside import aside
from retrograph.storage.mssql.dialect import Compiler
from retrograph.storage.tables import Versioned

TENANT = bindparam("tenant_id", type_=BigInteger)
"""The tenant of a statement: every one carries it, for every table that it reads."""
Instant = int | ColumnElement[int]
"""An instant in a statement: its microseconds, or the parameter that will carry them."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A table that holds visible versions, and the condition under which its rows are visible."""

    table: FromClause
    visible: tuple[ColumnElement[bool], ...]

    @property
    def c(self) -> Any:
        """The columns of the arm's table."""
        return self.table.c


def over_arms(
    found: list[Arm], build: Callable[[Arm], Select[Any]]
) -> Select[Any] | CompoundSelect[Any]:
    """The statement that `build` makes of each arm, with its visibility, joined by UNION ALL."""
    selects = [build(arm).where(*arm.visible) for arm in found]
    return selects[0] if len(selects) == 1 else union_all(*selects)


def paired_arms(versioned: Versioned, instant: Instant, *, current: bool) -> list[Arm]:
    """Arms over a pair of tables that the project keeps itself (SQLite)."""
    if current:
        return [Arm(versioned.current, ())]
    closed = versioned.history.c
    return [
        # Aside: an index by creation could look better than the way in that is meant.
        Arm(versioned.current, (aside(versioned.current.c.valid_from) <= instant,)),
        Arm(versioned.history, (closed.valid_from <= instant, closed.valid_to > instant)),
    ]


def paired_keyed_arms(
    versioned: Versioned, instant: Instant, key: ColumnElement[int], *, current: bool
) -> list[Arm]:
    """Keyed arms over a pair of tables: the history by the first `valid_to` after the instant.

    The instant may be a column beside the key, one for each row: engines that keep the pair
    themselves read it like this, too, since what they travel to is one instant a table.
    """
    now, closed = versioned.current, versioned.history
    if current:
        return [Arm(now, (now.c.id == key,))]
    later = closed.alias("later")
    first = (
        select(func.min(later.c.valid_to))
        .where(later.c.id == key, later.c.valid_to > instant, aside(later.c.tenant_id) == TENANT)
        .correlate_except(later)
        .scalar_subquery()
    )
    return [
        Arm(now, (now.c.id == key, now.c.valid_from <= instant)),
        Arm(
            closed,
            (closed.c.id == key, closed.c.valid_to == first, closed.c.valid_from <= instant),
        ),
    ]


class AsOf(TableClause):
    """A system-versioned table as of an instant, in the engine's own words."""

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012 (what tells statements apart, and carries parameters)
        *TableClause._traverse_internals,  # noqa: SLF001
        ("instant", InternalTraversal.dp_clauseelement),
    ]

    def __init__(self, table: Table, instant: Instant) -> None:
        period = table.c.valid_from.type
        columns = [column(c.name, c.type) for c in table.columns]
        super().__init__(f"{table.name}_then", *columns, column("valid_to", period))
        self.source = table
        self.instant = (
            literal(instant, period) if isinstance(instant, int) else type_coerce(instant, period)
        )


@compiles(AsOf, "mysql", "mariadb")
def _mariadb_as_of(element: AsOf, compiler: SQLCompiler, *, asfrom: bool = False, **kw: Any) -> str:
    quote = compiler.preparer.quote
    if not asfrom:
        return quote(element.name)
    instant = compiler.process(element.instant, **kw)
    table = quote(element.source.name)
    return f"{table} FOR SYSTEM_TIME AS OF {instant} AS {quote(element.name)}"


@compiles(AsOf, "mssql")
def _mssql_as_of(element: AsOf, compiler: Compiler, *, asfrom: bool = False, **kw: Any) -> str:
    alias = compiler.preparer.quote(element.name)
    if not asfrom:
        return alias
    table = compiler.preparer.format_table(element.source)
    return f"{table} FOR SYSTEM_TIME AS OF {compiler.variable(element.instant, **kw)} AS {alias}"


def native_arms(versioned: Versioned, instant: Instant, *, current: bool) -> list[Arm]:
    """The arm of an engine that keeps history itself."""
    return [Arm(versioned.current if current else AsOf(versioned.current, instant), ())]


def native_keyed_arms(
    versioned: Versioned, instant: Instant, key: ColumnElement[int], *, current: bool
) -> list[Arm]:
    """The same, by id."""
    return [
        Arm(arm.table, (arm.c.id == key,))
        for arm in native_arms(versioned, instant, current=current)
    ]
