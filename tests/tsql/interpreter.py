"""Runs the T-SQL procedures on SQLite: control flow here, tables there.

This tries the logic of the procedures where no server runs; it proves nothing of how SQL Server
executes them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.tsql.sqlite_text import Translator
from tests.tsql.tree import Node, Script, kind

Row = tuple[Any, ...]


class ThrownError(Exception):
    """A THROW: its number and its message."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(number, message)
        self.number = number
        self.message = message


class _Break(Exception):
    """A BREAK, on its way to its loop."""


class Interpreter:
    """Procedures over a connection whose tables are called as those of the schema Memory."""

    def __init__(self, connection: sqlite3.Connection, scripts: Iterable[Script]) -> None:
        self._connection = connection
        self._procedures: dict[str, tuple[Translator, Node]] = {}
        self._prepared: dict[tuple[int, int], str] = {}
        self._row_count = 0
        self._results: list[Row] = []
        self._temporary: list[str] = []
        for script in scripts:
            translator = Translator(script)
            for node in script.all("CreateProcedureStatement"):
                name = str(node.ProcedureReference.Name.BaseIdentifier.Value)
                self._procedures[name] = translator, node
        for function in (_choose, _concat, _hashbytes):
            connection.create_function(function.__name__[1:], -1, function, deterministic=True)
        connection.create_aggregate("string_agg", 3, _StringAgg)  # type: ignore[arg-type]

    def call(self, name: str, values: Mapping[str, Any]) -> list[Row]:
        """Executes a procedure and returns the rows it hands out; raises `ThrownError`."""
        self._results = []
        try:
            self._execute(name, dict(values))
        finally:
            while self._temporary:
                self._connection.execute(f"DROP TABLE {self._temporary.pop()}")
        return self._results

    def _execute(self, name: str, values: dict[str, Any]) -> None:
        translator, node = self._procedures[name]
        frame = _Frame(self, translator, {"trancount": 1})
        for parameter in node.Parameters:
            known = str(parameter.VariableName.Value).lstrip("@").lower()
            given = values[known] if known in values else frame.value(parameter.Value)
            frame.values[known] = given
        for statement in node.StatementList.Statements:
            frame.run(statement)


class _Frame:
    """One call of a procedure: its variables, and how each kind of statement is executed."""

    def __init__(
        self, machine: Interpreter, translator: Translator, values: dict[str, Any]
    ) -> None:
        self.values = values
        self._machine = machine
        self._text = translator
        self._ways: dict[str, Callable[[Node], None]] = {
            "BeginEndBlockStatement": lambda node: self.all(node.StatementList),
            "BreakStatement": self._break,
            "CreateTableStatement": self._create,
            "DeclareVariableStatement": self._declare,
            "DeleteStatement": lambda node: self._change(node, self._text.render),
            "ExecuteStatement": self._call,
            "IfStatement": self._if,
            "InsertStatement": lambda node: self._change(node, self._text.insert),
            "PredicateSetStatement": lambda node: None,
            "SetVariableStatement": self._set,
            "ThrowStatement": self._throw,
            "TruncateTableStatement": self._truncate,
            "TryCatchStatement": lambda node: self.all(node.TryStatements),
            "UpdateStatement": lambda node: self._change(node, self._text.update),
            "WhileStatement": self._while,
        }

    def all(self, statements: Node) -> None:
        for statement in statements.Statements:
            self.run(statement)

    def run(self, node: Node) -> None:
        self._ways[kind(node)](node)

    def value(self, expression: Node) -> Any:
        return self._scalar(expression, "SELECT {}")

    def _scalar(self, expression: Node, form: str) -> Any:
        text = self._prepared(expression, lambda node: form.format(self._text.render(node)))
        return self._machine._connection.execute(text, self._bound()).fetchone()[0]

    def _prepared(self, node: Node, write: Callable[[Node], str]) -> str:
        key = id(self._text), int(node.FirstTokenIndex)
        known = self._machine._prepared.get(key)
        if known is None:
            known = self._machine._prepared[key] = write(node)
        return known

    def _bound(self) -> dict[str, Any]:
        return self.values | {"rowcount": self._machine._row_count}

    def _change(self, node: Node, write: Callable[[Node], str]) -> None:
        connection = self._machine._connection
        rows = connection.execute(self._prepared(node, write), self._bound()).fetchall()
        self._machine._results += rows
        self._machine._row_count = connection.execute("SELECT changes()").fetchone()[0]

    def _declare(self, node: Node) -> None:
        for declaration in node.Declarations:
            name = str(declaration.VariableName.Value).lstrip("@").lower()
            self.values[name] = None
            if declaration.Value is not None:
                self.values[name] = self.value(declaration.Value)
        self._machine._row_count = 1

    def _set(self, node: Node) -> None:
        name = str(node.Variable.Name).lstrip("@").lower()
        given = self.value(node.Expression)
        now = self.values.get(name)
        changed = {"Equals": lambda: given, "AddEquals": lambda: now + given}
        changed["SubtractEquals"] = lambda: now - given
        self.values[name] = changed[str(node.AssignmentKind)]()
        self._machine._row_count = 1

    def _holds(self, predicate: Node) -> bool:
        return bool(self._scalar(predicate, "SELECT CASE WHEN {} THEN 1 ELSE 0 END"))

    def _if(self, node: Node) -> None:
        holds = self._holds(node.Predicate)
        self._machine._row_count = 0
        if holds:
            self.run(node.ThenStatement)
        elif node.ElseStatement is not None:
            self.run(node.ElseStatement)

    def _while(self, node: Node) -> None:
        try:
            while self._holds(node.Predicate):
                self.run(node.Statement)
        except _Break:
            return

    def _break(self, node: Node) -> None:
        raise _Break

    def _call(self, node: Node) -> None:
        called = node.ExecuteSpecification.ExecutableEntity
        name = str(called.ProcedureReference.ProcedureReference.Name.BaseIdentifier.Value)
        parameters = self._machine._procedures[name][1].Parameters
        names = [str(p.VariableName.Value).lstrip("@").lower() for p in parameters]
        given = [self.value(p.ParameterValue) for p in called.Parameters]
        self._machine._execute(name, dict(zip(names, given, strict=False)))

    def _create(self, node: Node) -> None:
        text = self._prepared(node, self._text.table)
        self._machine._connection.executescript(text)
        self._machine._temporary.append(text.split()[3])

    def _truncate(self, node: Node) -> None:
        name = self._prepared(node, lambda each: self._text.render(each.TableName))
        self._machine._connection.execute(f"DELETE FROM {name}")
        self._machine._row_count = 0

    def _throw(self, node: Node) -> None:
        raise ThrownError(self.value(node.ErrorNumber), self.value(node.Message))


def _choose(place: int | None, *values: Any) -> Any:
    return values[place - 1] if place is not None and 1 <= place <= len(values) else None


def _concat(*values: Any) -> str:
    return "".join("" if value is None else str(value) for value in values)


def _hashbytes(algorithm: str, text: str) -> bytes:
    assert algorithm == "SHA2_256"
    return hashlib.sha256(text.encode("ascii")).digest()


class _StringAgg:
    def __init__(self) -> None:
        self._parts: list[tuple[Any, str]] = []
        self._separator = ""

    def step(self, value: str, separator: str, order: Any) -> None:
        self._parts.append((order, value))
        self._separator = separator

    def finalize(self) -> str | None:
        if not self._parts:
            return None
        return self._separator.join(value for _, value in sorted(self._parts))
