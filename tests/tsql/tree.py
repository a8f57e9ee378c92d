"""A parsed text: its syntax tree as ScriptDom gives it, and the ways through it."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.tsql.collector import fragments
from tests.tsql.runtime import reader, scriptdom

Node = Any
"""A fragment of ScriptDom's tree; its members are documented there."""

_PARTS = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|(?<![:\w]):(\w+)|(\?)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text that can be sent; `name` tells where it comes from."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, by which rule, and where: the statement's name and a line in its text."""

    rule: str
    where: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Script:
    """A statement with its tree, and the fragments of the tree by their types."""

    statement: Statement
    tree: Node
    fragments: dict[str, list[Node]]

    def all(self, *kinds: str) -> Iterator[Node]:
        """The fragments of these types, those of each in the order of the text."""
        return (node for wanted in kinds for node in self.fragments.get(wanted, ()))

    def finding(self, rule: str, node: Node, message: str) -> Finding:
        """A finding at a fragment."""
        return Finding(rule, self.statement.name, int(node.StartLine), message)


@cache
def parse(statement: Statement) -> tuple[Script, tuple[Finding, ...]]:
    """The tree of a statement, and its syntax errors by the grammar of SQL Server 2019.

    Parameters may be written as drivers (`?`) or SQLAlchemy (`:name`) do.
    """
    tree, by_kind, errors = _parsed(statement.text)
    found = [Finding("syntax", statement.name, line, message) for line, message in errors]
    return Script(statement, tree, by_kind), tuple(found)


@cache
def _parsed(text: str) -> tuple[Node, dict[str, list[Node]], list[tuple[int, str]]]:
    """The tree, its fragments by their types, and the lines and messages of its errors."""
    parser = scriptdom().TSql150Parser(True)
    tree, errors = parser.Parse(reader(with_variables(text)), None)
    return tree, _by_kind(tree), [(int(e.Line), str(e.Message)) for e in errors]


def with_variables(text: str) -> str:
    """The text with each parameter outside of quotes and comments as a T-SQL variable.

    Those without names are `@parameter1` and so on.
    """
    numbers = itertools.count(1)

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return f"@{match[1]}"
        return f"@parameter{next(numbers)}" if match[2] else match[0]

    return _PARTS.sub(replaced, text)


def kind(node: Node) -> str:
    """The name of a fragment's type."""
    return type(node).__name__


def name_of(named: Node) -> tuple[str, str]:
    """The schema, lower-case and empty where there is none, and the name of an object."""
    schema = named.SchemaIdentifier
    return ("" if schema is None else str(schema.Value).lower()), str(named.BaseIdentifier.Value)


def column_path(reference: Node) -> list[str]:
    """The parts of a column reference, lower-case; empty for `*`."""
    identifiers = reference.MultiPartIdentifier
    return [] if identifiers is None else [str(i.Value).lower() for i in identifiers.Identifiers]


def _by_kind(tree: Node) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = defaultdict(list)
    for node in fragments(tree):
        found[kind(node)].append(node)
    return found
