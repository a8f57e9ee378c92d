"""What a database of the stand-in holds: tables, histories, procedures, policies.

A schema is a value; each batch of definitions makes the next of it, and says what SQLite is to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.tsql.errors import ServerError
from tests.tsql.tree import Node, Script


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `kind` is ScriptDom's word for its type, empty where it is computed."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A table; `period` are the columns that the server fills, `token` its ROWVERSION."""

    name: str
    columns: tuple[Column, ...]
    period: tuple[str, str] | None = None
    history: str | None = None
    token: str | None = None

    def column(self, name: str) -> Column:
        """The column of a name, in any case."""
        for column in self.columns:
            if column.name.lower() == name.lower():
                return column
        raise ServerError(207, f"Invalid column name '{name}'.")


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """Everything by its lower-case name; `guards` are conditions that a table's rows must meet."""

    schemas: frozenset[str] = frozenset()
    tables: Mapping[str, Stored] = field(default_factory=dict)
    sequences: frozenset[str] = frozenset()
    routines: Mapping[str, tuple[Script, Node]] = field(default_factory=dict)
    guards: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def table(self, name: str) -> Stored:
        """The table of a name; raises what the server does where there is none."""
        found = self.tables.get(name.lower())
        if found is None:
            raise ServerError(208, f"Invalid object name 'Memory.{name}'.")
        return found

    def stored(self, name: str) -> str:
        """How SQLite calls what a session may see of a table."""
        return f"[{self.table(name).name}]"


EMPTY = Schema()
"""A new database."""
