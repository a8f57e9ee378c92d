"""A connection of the stand-in driver, as pyodbc's look from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from tests.missing import driver_manager
from tests.tsql.errors import ServerError, gone, told
from tests.tsql.recorder import Recorder
from tests.tsql.session import Result, Session
from tests.tsql.tree import Statement
from tests.tsql.values import bound, fetched

MOST_PARAMETERS = 2_100
DRIVER_NAME = "libmsodbcsql-18.5.so.1.1"
_SQL_DRIVER_NAME, _SQL_DBMS_NAME = 6, 17
_INFO = {_SQL_DRIVER_NAME: DRIVER_NAME, _SQL_DBMS_NAME: "Microsoft SQL Server"}


class Row(tuple[Any, ...]):
    """A row; its columns are attributes, too."""

    __slots__ = ()
    names: ClassVar[Sequence[str]] = ()

    def __getattr__(self, name: str) -> Any:
        if name not in self.names:
            raise AttributeError(name)
        return self[self.names.index(name)]


class Connection:
    """An open connection; `alive` tells whether its server still answers."""

    def __init__(
        self, session: Session, recorder: Recorder, alive: Callable[[], bool], *, autocommit: bool
    ) -> None:
        self._session = session
        self._recorder = recorder
        self._alive = alive
        self.closed = False
        self._autocommit = autocommit
        self.timeout = 0

    @property
    def autocommit(self) -> bool:
        """Whether each statement that begins no transaction is one of its own."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, on: bool) -> None:
        if on and not self._autocommit:
            self.commit()
        self._autocommit = on
        self._session.implicit = not on

    def cursor(self) -> Cursor:
        """A new cursor."""
        self._check()
        return Cursor(self)

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        """A new cursor that has executed a text."""
        return self.cursor().execute(sql, *parameters)

    def commit(self) -> None:
        """Ends a transaction that began by itself; without autocommit alone."""
        self._check()
        if not self._autocommit and self._session.depth:
            self._do(self._session.commit)

    def rollback(self) -> None:
        """Undoes a transaction that began by itself; without autocommit alone."""
        self._check()
        if not self._autocommit and self._session.depth:
            self._do(self._session.rollback)

    def close(self) -> None:
        """Ends the session; closing twice is an error, as it is for pyodbc."""
        if self.closed:
            raise driver_manager().ProgrammingError("The connection has been closed.")
        self.closed = True
        self._session.close()

    def getinfo(self, kind: int) -> Any:
        """What the driver tells of itself."""
        return _INFO[kind]

    def setencoding(self, *args: Any, **options: Any) -> None:
        """Nothing: texts are texts."""

    def setdecoding(self, *args: Any, **options: Any) -> None:
        """Nothing: texts are texts."""

    def add_output_converter(self, kind: int, function: Callable[[bytes], Any]) -> None:
        """Nothing: no type here needs one."""

    def run(self, sql: str, values: Sequence[Any], timeout: int) -> list[Result | ServerError]:
        """Records a text, has it judged, and runs it for `timeout` seconds at most; 0: for ever."""
        self._check()
        if sql.count("?") < len(values):
            raise driver_manager().ProgrammingError(
                "HY000", f"The SQL contains fewer markers than the {len(values)} parameters."
            )
        if len(values) > MOST_PARAMETERS:
            raise told(ServerError(8003, "The incoming request has too many parameters."))
        found = self._recorder.record(sql, tuple(map(_type_of, values)))
        if found:
            raise AssertionError(f"the gate refuses {sql!r}: {'; '.join(map(str, found))}")
        named = {f"parameter{place}": bound(value) for place, value in enumerate(values, 1)}
        results = self._session.run(Statement("sent", sql), named, timeout)
        self._recorder.called |= self._session.called
        return results

    def _do(self, end: Callable[[], None]) -> None:
        try:
            end()
        except ServerError as error:
            raise told(error) from error

    def _check(self) -> None:
        if self.closed:
            raise driver_manager().ProgrammingError("Attempt to use a closed connection.")
        if not self._alive():
            raise gone()


class Cursor:
    """A cursor: the results of the text that it executed last, one after the other."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._timeout = connection.timeout  # it counts for cursors that are made from then on
        self.arraysize = 1
        self.fast_executemany = False
        self.messages: list[tuple[str, str]] = []
        self._results: Iterator[Result | ServerError] = iter(())
        self._now = Result(None)
        self._rows: Iterator[Row] = iter(())
        self._closed = False

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """The columns of the present result, None where it has none."""
        if self._now.names is None:
            return None
        return [(name, None, None, None, None, None, True) for name in self._now.names]

    @property
    def rowcount(self) -> int:
        """How many rows were changed; -1 for a query."""
        return self._now.count

    def execute(self, sql: str, *parameters: Any) -> Cursor:
        """Executes a text with its parameters, one by one or as one sequence."""
        if len(parameters) == 1 and isinstance(parameters[0], (tuple, list)):
            parameters = tuple(parameters[0])
        self._check()
        self._results = iter(self.connection.run(sql, parameters, self._timeout))
        self._advance()
        return self

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Executes a text once for each row of parameters."""
        for row in rows:
            self.execute(sql, tuple(row))
            while self.nextset():
                pass

    def nextset(self) -> bool:
        """Moves to the next result; raises the error that stands in its place."""
        self._check()
        return self._advance()

    def fetchone(self) -> Row | None:
        """The next row."""
        self._check_rows()
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """The next rows."""
        self._check_rows()
        wanted = self.arraysize if size is None else size
        return [row for _, row in zip(range(wanted), self._rows, strict=False)]

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        self._check_rows()
        return list(self._rows)

    def fetchval(self) -> Any:
        """The first column of the next row."""
        row = self.fetchone()
        return None if row is None else row[0]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchall())

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing: parameters go by their Python types."""

    def setoutputsize(self, *sizes: Any) -> None:
        """Nothing."""

    def close(self) -> None:
        """Ends the cursor."""
        self._closed = True

    def _advance(self) -> bool:
        following = next(self._results, None)
        self._now, self._rows = Result(None), iter(())
        if isinstance(following, ServerError):
            raise told(following) from following
        if following is None:
            return False
        self._now = following
        names = following.names or []
        row_type = type("Row", (Row,), {"names": names, "__slots__": ()})
        self._rows = (row_type(map(fetched, row)) for row in following.rows)
        return True

    def _check(self) -> None:
        if self._closed:
            raise driver_manager().ProgrammingError("Attempt to use a closed cursor.")

    def _check_rows(self) -> None:
        self._check()
        if self._now.names is None:
            raise driver_manager().ProgrammingError("No results.  Previous SQL was not a query.")


def _type_of(value: Any) -> str:
    """The type that a driver binds a value by: a member of an enum is a number to it."""
    kind = type(value)
    return int.__name__ if issubclass(kind, int) and kind is not bool else kind.__name__
