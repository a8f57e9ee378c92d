"""Sets of ids, keys and instants as tables: one JSON parameter carries any number of values.

The parameter is named, so that a statement can be built once and be executed with other values;
what is passed for it is a list, which its type turns into JSON text.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnClause,
    Dialect,
    FunctionElement,
    Select,
    TableValuedAlias,
    Text,
    TypeDecorator,
    bindparam,
    column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from retrograph.storage.tables import Moment, Period

Place = tuple[int, int]
"""Where a version of something is looked for: its id, and an instant (UTC microseconds)."""


class JsonList(TypeDecorator[Collection[Any]]):
    """A list that travels as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(
        self,
        value: Collection[Any] | None,
        dialect: Dialect,  # noqa: ARG002 (SQLAlchemy's signature)
    ) -> str:
        """The JSON text of the values; None is an empty list."""
        return orjson.dumps(list(value or ())).decode()


class JsonInstants(TypeDecorator[Collection[Place]]):
    """Ids and instants that travel as JSON text, an array of pairs."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Collection[Place] | None, dialect: Dialect) -> str:
        """The JSON text of the pairs, the instants as the engine takes them."""
        bind = Moment.dialect_impl(dialect).bind_processor(dialect)
        pairs = value or ()
        return orjson.dumps([(k, at if bind is None else bind(at)) for k, at in pairs]).decode()


class _Ids(FunctionElement[Any]):
    """A table with the integer column `value`, one row an element of a JSON array."""

    inherit_cache = True
    name = "json_ids"


class _Keys(FunctionElement[Any]):
    """A table with the text column `value`, one row an element of a JSON array."""

    inherit_cache = True
    name = "json_keys"


class _Pairs(FunctionElement[Any]):
    """A table with the columns `first` and `second`, one row an element of an array of pairs."""

    inherit_cache = True
    name = "json_pairs"


class _Instants(FunctionElement[Any]):
    """A table with the columns `id`, `moment` and `period`, one row an element of an array."""

    inherit_cache = True
    name = "json_instants"


def id_rows(name: str = "ids") -> TableValuedAlias:
    """A table `name` whose column `value` holds the integers passed as the parameter `name`."""
    return _rows(_Ids(_parameter(name)), name, column("value", BigInteger))


def key_rows(name: str = "keys") -> TableValuedAlias:
    """A table `name` whose column `value` holds the texts passed as the parameter `name`."""
    return _rows(_Keys(_parameter(name)), name, column("value", Text))


def pair_rows(name: str = "pairs") -> TableValuedAlias:
    """A table `name` with integer columns `first` and `second` for the parameter `name`."""
    columns = (column("first", BigInteger), column("second", BigInteger))
    return _rows(_Pairs(_parameter(name)), name, *columns)


def instant_rows(name: str = "since") -> TableValuedAlias:
    """A table `name` of the pairs of `id` and instant that are passed as the parameter `name`.

    `moment` is compared with instants that a statement gave, `period` with those that the engine
    gives where it versions rows by itself.
    """
    given = bindparam(name, type_=JsonInstants())
    columns = (column("id", BigInteger), column("moment", Moment), column("period", Period))
    return _rows(_Instants(given), name, *columns)


def id_set(ids: Collection[int]) -> Select[Any]:
    """The ids as a sub-select: `table.c.id.in_(id_set(ids))`."""
    given = bindparam(None, list(ids), JsonList(), unique=True)
    rows = _rows(_Ids(given), None, column("value", BigInteger))
    return select(rows.c.value)


def _parameter(name: str) -> BindParameter[Collection[Any]]:
    return bindparam(name, type_=JsonList())


def _rows(
    function: FunctionElement[Any], name: str | None, *columns: ColumnClause[Any]
) -> TableValuedAlias:
    return function.table_valued(*columns, name=name)


@compiles(_Ids, "sqlite")
@compiles(_Keys, "sqlite")
def _sqlite_values(element: _Ids | _Keys, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_each{compiler.process(element.clause_expr, **kw)}"


@compiles(_Pairs, "sqlite")
def _sqlite_pairs(element: _Pairs, compiler: SQLCompiler, **kw: Any) -> str:
    parts = ("json_extract(value, '$[0]') AS first", "json_extract(value, '$[1]') AS second")
    array = compiler.process(element.clause_expr, **kw)
    return f"(SELECT {', '.join(parts)} FROM json_each{array})"  # noqa: S608 (no input in it)


@compiles(_Instants, "sqlite")
def _sqlite_instants(element: _Instants, compiler: SQLCompiler, **kw: Any) -> str:
    places = {"id": 0, "moment": 1, "period": 1}
    parts = [f"json_extract(value, '$[{place}]') AS {name}" for name, place in places.items()]
    array = compiler.process(element.clause_expr, **kw)
    return f"(SELECT {', '.join(parts)} FROM json_each{array})"  # noqa: S608 (no input in it)


@compiles(_Ids, "mysql", "mariadb")
def _mariadb_ids(element: _Ids, compiler: SQLCompiler, **kw: Any) -> str:
    array = compiler.process(element.clause_expr.element, **kw)
    return f"JSON_TABLE({array}, '$[*]' COLUMNS (value BIGINT PATH '$'))"


@compiles(_Keys, "mysql", "mariadb")
def _mariadb_keys(element: _Keys, compiler: SQLCompiler, **kw: Any) -> str:
    array = compiler.process(element.clause_expr.element, **kw)
    kind = "VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    return f"JSON_TABLE({array}, '$[*]' COLUMNS (value {kind} PATH '$'))"


@compiles(_Pairs, "mysql", "mariadb")
def _mariadb_pairs(element: _Pairs, compiler: SQLCompiler, **kw: Any) -> str:
    array = compiler.process(element.clause_expr.element, **kw)
    columns = "first BIGINT PATH '$[0]', second BIGINT PATH '$[1]'"
    return f"JSON_TABLE({array}, '$[*]' COLUMNS ({columns}))"


@compiles(_Instants, "mysql", "mariadb")
def _mariadb_instants(element: _Instants, compiler: SQLCompiler, **kw: Any) -> str:
    array = compiler.process(element.clause_expr.element, **kw)
    columns = "id BIGINT PATH '$[0]', moment BIGINT PATH '$[1]'"
    given = f"JSON_TABLE({array}, '$[*]' COLUMNS ({columns})) AS given"
    return f"(SELECT id, moment, FROM_UNIXTIME(moment * 0.000001) AS period FROM {given})"  # noqa: S608


@compiles(_Ids, "mssql")
def _mssql_ids(element: _Ids, compiler: SQLCompiler, **kw: Any) -> str:
    return f"OPENJSON{compiler.process(element.clause_expr, **kw)} WITH (Value BIGINT '$')"


@compiles(_Keys, "mssql")
def _mssql_keys(element: _Keys, compiler: SQLCompiler, **kw: Any) -> str:
    return f"OPENJSON{compiler.process(element.clause_expr, **kw)} WITH (Value NVARCHAR(MAX) '$')"


@compiles(_Pairs, "mssql")
def _mssql_pairs(element: _Pairs, compiler: SQLCompiler, **kw: Any) -> str:
    columns = "First BIGINT '$[0]', Second BIGINT '$[1]'"
    return f"OPENJSON{compiler.process(element.clause_expr, **kw)} WITH ({columns})"


@compiles(_Instants, "mssql")
def _mssql_instants(element: _Instants, compiler: SQLCompiler, **kw: Any) -> str:
    columns = "Id BIGINT '$[0]', Moment DATETIME2(6) '$[1]', Period DATETIME2(6) '$[1]'"
    return f"OPENJSON{compiler.process(element.clause_expr, **kw)} WITH ({columns})"
