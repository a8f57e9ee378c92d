"""Runs T-SQL on SQLite: control flow here, tables there.

A batch or procedure is compiled once, to functions of a frame (its variables, over a session).
This tries the logic of the text where no server runs; it proves nothing of how SQL Server
executes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tests.tsql.definitions import KNOWN, Definitions
from tests.tsql.errors import ServerError
from tests.tsql.program import Frame, Parameter, Program, Step, Value
from tests.tsql.schema import Schema
from tests.tsql.sqlite_changes import Change, Changes
from tests.tsql.sqlite_text import Translator, result_names
from tests.tsql.tree import Node, Script, Statement, kind, name_of, parse
from tests.tsql.values import as_instant

_CONTROL = frozenset(
    {
        "AlterDatabaseSetStatement", "AlterDatabaseTermination", "BeginEndBlockStatement",
        "BeginTransactionStatement", "BreakStatement", "CommitTransactionStatement",
        "DeclareVariableElement", "DeclareVariableStatement", "DeleteSpecification",
        "DeleteStatement", "DropTableStatement", "ExecutableProcedureReference",
        "ExecuteParameter", "ExecuteSpecification", "ExecuteStatement", "GeneralSetCommand",
        "InsertSpecification", "InsertStatement", "OnOffDatabaseOption", "PredicateSetStatement",
        "ProcedureReferenceName", "RollbackTransactionStatement", "SelectInsertSource",
        "SetCommandStatement", "SetTransactionIsolationLevelStatement", "SetVariableStatement",
        "SimpleTableHint", "StatementList", "TSqlBatch", "TSqlScript", "TableHint",
        "TemporalClause", "ThrowStatement", "TruncateTableStatement", "TryCatchStatement",
        "UpdateSpecification", "UpdateStatement", "ValuesInsertSource", "WaitForStatement",
        "WhileStatement", "OptimizerHint",
    }
)  # fmt: skip
"""Fragments that this module knows, or what it hands them to."""
_FLAGS = {
    "NoCount": None,
    "XactAbort": None,
    "AnsiNulls": True,
    "AnsiPadding": True,
    "AnsiWarnings": True,
    "ArithAbort": True,
    "ConcatNullYieldsNull": True,
    "NumericRoundAbort": False,
    "QuotedIdentifier": True,
}
"""Options that can be set, and the one value that some may have."""
_DELAY = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{3})")


class _Break(Exception):
    """A BREAK, on its way to its loop."""


@cache
def compile_batch(statement: Statement, schema: Schema) -> Program:
    """The program of a text that is sent; raises `ServerError` where the server can't compile."""
    script, errors = parse(statement)
    if errors:
        raise ServerError(102, f"Incorrect syntax: {errors[0].message}")
    batches = list(script.tree.Batches)
    if len(batches) != 1:
        raise NotImplementedError("more than one batch in a text")
    return Program(Compiler(script, schema).block(batches[0].Statements))


@cache
def compile_routine(name: str, schema: Schema) -> Program:
    """The program of a procedure."""
    if name.lower() not in schema.routines:
        raise ServerError(2812, f"Could not find stored procedure '{name}'.")
    script, node = schema.routines[name.lower()]
    compiler = Compiler(script, schema)
    parameters = tuple(compiler.parameter(each) for each in node.Parameters)
    return Program(compiler.block(node.StatementList.Statements), parameters)


class Compiler:
    """Turns the statements of one script into steps."""

    def __init__(self, script: Script, schema: Schema) -> None:
        self._script = script
        self._schema = schema
        self._text = Translator(script, schema)
        self._changes = Changes(self._text)
        self._definitions = Definitions(script, schema)
        unknown = script.fragments.keys() - self._text.known - _CONTROL - KNOWN
        if unknown:
            raise NotImplementedError(f"{sorted(unknown)} in {script.statement.text}")
        self._ways: dict[str, Callable[[Node], Step]] = {
            "AlterDatabaseSetStatement": self._database,
            "BeginEndBlockStatement": lambda node: _all(self.block(node.StatementList.Statements)),
            "BeginTransactionStatement": lambda node: lambda frame: frame.machine.begin(),
            "BreakStatement": lambda node: _break,
            "CommitTransactionStatement": lambda node: lambda frame: frame.machine.commit(),
            "CreateTableStatement": self._create,
            "DeclareVariableStatement": self._declare,
            "DeleteStatement": lambda node: _change(self._changes.delete(node)),
            "DropTableStatement": self._drop,
            "ExecuteStatement": self._call,
            "IfStatement": self._if,
            "InsertStatement": lambda node: _change(self._changes.insert(node)),
            "PredicateSetStatement": self._flag,
            "RollbackTransactionStatement": self._rollback,
            "SelectStatement": self._select,
            "SetCommandStatement": self._command,
            "SetTransactionIsolationLevelStatement": self._isolation,
            "SetVariableStatement": self._set,
            "ThrowStatement": self._throw,
            "TruncateTableStatement": self._truncate,
            "TryCatchStatement": self._try,
            "UpdateStatement": lambda node: _change(self._changes.update(node)),
            "WaitForStatement": self._wait,
            "WhileStatement": self._while,
        }

    def block(self, statements: Node) -> tuple[Step, ...]:
        """The steps of statements in a row; definitions in a row are one step."""
        nodes = list(statements)
        if nodes and all(self._defines(node) for node in nodes):
            statement = self._script.statement
            return (lambda frame: frame.machine.define(statement),)
        return tuple(self._step(node) for node in nodes)

    def parameter(self, node: Node) -> Parameter:
        """A procedure's parameter."""
        default = None if node.Value is None else self._value(node.Value)
        is_instant = str(node.DataType.SqlDataTypeOption) == "DateTime2"
        return Parameter(_variable(node.VariableName), default, is_instant)

    def _step(self, node: Node) -> Step:
        way = self._ways.get(kind(node))
        if way is None:
            raise NotImplementedError(f"{kind(node)} in {self._script.statement.text}")
        return way(node)

    def _defines(self, node: Node) -> bool:
        temporary = kind(node) == "CreateTableStatement" and _is_temporary(node.SchemaObjectName)
        return kind(node) in self._definitions.ways and not temporary

    def _value(self, node: Node) -> Value:
        if kind(node) == "VariableReference":
            name = _variable(node)
            return lambda frame: frame.values[name]
        text = f"SELECT {self._text.render(node)}"
        return lambda frame: frame.scalar(text)

    def _holds(self, predicate: Node) -> Callable[[Frame], bool]:
        text = f"SELECT CASE WHEN {self._text.render(predicate)} THEN 1 ELSE 0 END"
        return lambda frame: bool(frame.scalar(text))

    def _select(self, node: Node) -> Step:
        if node.Into is not None:
            raise NotImplementedError("SELECT … INTO")
        text, names = self._text.statement(node), result_names(node.QueryExpression)
        return lambda frame: frame.machine.answer(names, text, frame.bound())

    def _declare(self, node: Node) -> Step:
        declared = [
            (
                _variable(each.VariableName),
                None if each.Value is None else self._value(each.Value),
                str(each.DataType.SqlDataTypeOption) == "DateTime2",
            )
            for each in node.Declarations
        ]

        def run(frame: Frame) -> None:
            for name, value, is_instant in declared:
                given = None if value is None else value(frame)
                frame.values[name] = as_instant(given) if is_instant else given
            frame.machine.row_count = 1

        return run

    def _set(self, node: Node) -> Step:
        name, value = _variable(node.Variable), self._value(node.Expression)
        signs = {"Equals": 0, "AddEquals": 1, "SubtractEquals": -1}
        sign = signs[str(node.AssignmentKind)]

        def run(frame: Frame) -> None:
            given = value(frame)
            frame.values[name] = frame.values[name] + sign * given if sign else given
            frame.machine.row_count = 1

        return run

    def _if(self, node: Node) -> Step:
        holds, then = self._holds(node.Predicate), self._step(node.ThenStatement)
        other = None if node.ElseStatement is None else self._step(node.ElseStatement)

        def run(frame: Frame) -> None:
            truth = holds(frame)
            frame.machine.row_count = 0
            if truth:
                then(frame)
            elif other is not None:
                other(frame)

        return run

    def _while(self, node: Node) -> Step:
        holds, body = self._holds(node.Predicate), self._step(node.Statement)

        def run(frame: Frame) -> None:
            try:
                while holds(frame):
                    body(frame)
            except _Break:
                return

        return run

    def _try(self, node: Node) -> Step:
        body = _all(self.block(node.TryStatements.Statements))
        handler = _all(self.block(node.CatchStatements.Statements))

        def run(frame: Frame) -> None:
            try:
                body(frame)
            except ServerError as error:
                frame.error = error
                frame.machine.caught()
                handler(frame)

        return run

    def _throw(self, node: Node) -> Step:
        if node.ErrorNumber is None:
            return _rethrow
        number, message = self._value(node.ErrorNumber), self._value(node.Message)

        def run(frame: Frame) -> None:
            raise ServerError(number(frame), message(frame))

        return run

    def _call(self, node: Node) -> Step:
        specification = node.ExecuteSpecification
        called = specification.ExecutableEntity
        if kind(called) != "ExecutableProcedureReference":
            raise NotImplementedError(f"EXEC of {kind(called)}")
        schema, name = name_of(called.ProcedureReference.ProcedureReference.Name)
        given = [self._argument(each) for each in called.Parameters]
        answer = None if specification.Variable is None else _variable(specification.Variable)
        outputs = [
            (_variable(each.Variable), _variable(each.ParameterValue))
            for each in called.Parameters
            if each.IsOutput
        ]
        if schema == "memory":
            return self._call_own(name, given)
        if schema != "sys":
            raise ServerError(2812, f"Could not find stored procedure '{name}'.")

        def run(frame: Frame) -> None:
            values = {str(key): value(frame) for key, value in given}
            code, put = frame.machine.system_call(name.lower(), values)
            frame.values |= {variable: put[key] for key, variable in outputs}
            if answer is not None:
                frame.values[answer] = code

        return run

    def _call_own(self, name: str, given: list[tuple[str | None, Value]]) -> Step:
        def run(frame: Frame) -> None:
            program = frame.machine.routine(name)
            names = [parameter.name for parameter in program.parameters]
            keys = [key or names[place] for place, (key, _) in enumerate(given)]
            wrong = [key for key in keys if key not in names]
            if wrong:
                raise ServerError(8145, f"@{wrong[0]} is not a parameter for procedure {name}.")
            values = {key: value(frame) for key, (_, value) in zip(keys, given, strict=True)}
            frame.machine.scope(lambda: program.run(frame.machine, values))

        return run

    def _argument(self, node: Node) -> tuple[str | None, Value]:
        name = None if node.Variable is None else _variable(node.Variable)
        if node.IsOutput:
            return name, lambda frame: None
        return name, self._value(node.ParameterValue)

    def _create(self, node: Node) -> Step:
        if not _is_temporary(node.SchemaObjectName):
            raise NotImplementedError("a table made amid other statements")
        body, name = node.Definition, _temporary(node.SchemaObjectName)
        parts = [self._text.render(part) for part in body.ColumnDefinitions]
        parts += [self._text.render(part) for part in body.TableConstraints]
        made = [f"CREATE TABLE temp.[{name}] ({', '.join(parts)})"]
        for index in body.Indexes:
            columns = ", ".join(self._text.render(column) for column in index.Columns)
            made.append(f"CREATE INDEX temp.[{name}_{index.Name.Value}] ON [{name}] ({columns})")
        return lambda frame: frame.machine.temporary(";".join(made), name)

    def _drop(self, node: Node) -> Step:
        (named,) = node.Objects
        if not _is_temporary(named):
            raise NotImplementedError("DROP TABLE of a lasting table")
        name = _temporary(named)
        return lambda frame: frame.machine.drop(name)

    def _truncate(self, node: Node) -> Step:
        if not _is_temporary(node.TableName):
            raise NotImplementedError("TRUNCATE of a lasting table")
        return _change(Change(f"DELETE FROM temp.[{_temporary(node.TableName)}]", lasting=False))

    def _flag(self, node: Node) -> Step:
        names = [name.strip() for name in str(node.Options).split(",")]
        is_on = bool(node.IsOn)
        if any(_FLAGS.get(name, not is_on) not in {None, is_on} for name in names):
            raise NotImplementedError(f"SET {node.Options}, on: {is_on}")

        def run(frame: Frame) -> None:
            for name in names:
                frame.machine.set_option(name, is_on)

        return run

    def _command(self, node: Node) -> Step:
        (command,) = node.Commands
        if kind(command) != "GeneralSetCommand" or str(command.CommandType) != "LockTimeout":
            raise NotImplementedError(f"SET in {self._script.statement.text}")
        value = self._value(command.Parameter)
        return lambda frame: frame.machine.set_option("LockTimeout", value(frame))

    def _isolation(self, node: Node) -> Step:
        level = str(node.Level)
        return lambda frame: frame.machine.set_option("Isolation", level)

    def _database(self, node: Node) -> Step:
        if not node.UseCurrent:
            raise NotImplementedError("ALTER DATABASE of another one")
        set_to = [(str(o.OptionKind), str(o.OptionState) == "On") for o in node.Options]

        def run(frame: Frame) -> None:
            for name, on in set_to:
                frame.machine.set_database(name, on)

        return run

    def _rollback(self, node: Node) -> Step:
        if node.Name is not None:
            raise NotImplementedError("ROLLBACK to a savepoint")
        return lambda frame: frame.machine.rollback()

    def _wait(self, node: Node) -> Step:
        if str(node.WaitForOption) != "Delay":
            raise NotImplementedError("WAITFOR TIME")
        found = _DELAY.fullmatch(str(node.Parameter.Value))
        if found is None:
            raise NotImplementedError(f"WAITFOR DELAY {node.Parameter.Value}")
        hours, minutes, seconds, millis = map(int, found.groups())
        micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + millis * 1_000
        return lambda frame: frame.machine.wait(micros)


def _all(steps: tuple[Step, ...]) -> Step:
    def run(frame: Frame) -> None:
        for step in steps:
            step(frame)

    return run


def _change(change: Change) -> Step:
    return lambda frame: frame.machine.change(change, frame.bound())


def _break(frame: Frame) -> None:
    raise _Break


def _rethrow(frame: Frame) -> None:
    if frame.error is None:
        raise NotImplementedError("THROW without a CATCH around it")
    raise frame.error


def _variable(node: Node) -> str:
    """A variable's name, as it is bound."""
    named = node.Name if hasattr(node, "Name") else node.Value
    return str(named).lstrip("@").lower()


def _is_temporary(named: Node) -> bool:
    return str(named.BaseIdentifier.Value).startswith("#")


def _temporary(named: Node) -> str:
    return f"temp_{str(named.BaseIdentifier.Value)[1:]}"
