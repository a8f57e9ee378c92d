"""Compiled T-SQL: steps over a frame of variables, and the machine that they move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.tsql.errors import ServerError
from tests.tsql.sqlite_changes import Change
from tests.tsql.tree import Statement
from tests.tsql.values import as_instant

Values = dict[str, Any]


class Machine(Protocol):
    """What runs statements, and what of a connection and its server a program can move."""

    row_count: int

    def query(self, text: str, values: Values) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def answer(self, names: list[str] | None, text: str, values: Values) -> None:
        """Hands the rows of a query out."""

    def change(self, change: Change, values: Values) -> None:
        """Changes rows, and hands out what is asked for."""

    def temporary(self, text: str, name: str) -> None:
        """Makes a temporary table, which lives as long as the procedure that makes it."""

    def drop(self, name: str) -> None:
        """Drops a temporary table."""

    def define(self, statement: Statement) -> None:
        """Changes the schema as a batch of definitions says."""

    def routine(self, name: str) -> Program:
        """A procedure of the schema Memory."""

    def system_call(self, name: str, values: Values) -> tuple[int, Values]:
        """Calls a procedure of the server: what it returns, and what it puts out."""

    def scope(self, run: Callable[[], None]) -> None:
        """Runs a procedure's body: its settings and temporary tables end with it."""

    def globals(self) -> Values:
        """The values of @@ROWCOUNT and the like."""

    def begin(self) -> None:
        """BEGIN TRANSACTION."""

    def commit(self) -> None:
        """COMMIT TRANSACTION."""

    def rollback(self) -> None:
        """ROLLBACK TRANSACTION."""

    def wait(self, micros: int) -> None:
        """WAITFOR DELAY."""

    def set_option(self, name: str, value: object) -> None:
        """SET of an option of the session."""

    def set_database(self, name: str, on: bool) -> None:
        """ALTER DATABASE … SET."""

    def caught(self) -> None:
        """An error is in the hands of a CATCH."""


@dataclass(slots=True)
class Frame:
    """One run of a program: its variables, and the error that its CATCH has caught."""

    machine: Machine
    values: Values
    error: ServerError | None = None

    def bound(self) -> Values:
        return self.values | self.machine.globals()

    def scalar(self, text: str) -> Any:
        return self.machine.query(text, self.bound())[0][0]


Step = Callable[[Frame], None]
Value = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure; `default` is None where one must be given."""

    name: str
    default: Value | None
    instant: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled batch or procedure."""

    steps: tuple[Step, ...]
    parameters: tuple[Parameter, ...] = field(default=())

    def run(self, machine: Machine, given: Values) -> None:
        """Runs it with values for its parameters, or, for a batch, its variables."""
        frame = Frame(machine, dict(given) if not self.parameters else {})
        for parameter in self.parameters:
            frame.values[parameter.name] = _given(parameter, given, frame)
        for step in self.steps:
            step(frame)


def _given(parameter: Parameter, given: Values, frame: Frame) -> Any:
    if parameter.name in given:
        value = given[parameter.name]
    elif parameter.default is not None:
        value = parameter.default(frame)
    else:
        raise ServerError(201, f"The procedure expects parameter '@{parameter.name}'.")
    return as_instant(value) if parameter.instant else value
