"""How statements are spelt for SQL Server: names, texts, declarations.

Tables lie in the schema `Memory` and are called as `TABLES` says; all other names are the
PascalCase of those in Python.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.mssql.base import MSIdentifierPreparer, MSSQLCompiler
from sqlalchemy.dialects.mssql.pyodbc import MSDialect_pyodbc
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import String, Text, Unicode, UnicodeText

URL = "mssql+memory://"
"""What `create_engine` takes for an engine of this dialect."""

_VERSIONED = {
    "node_state": "Nodes",
    "node_content": "NodeContents",
    "edge": "Edges",
    "evidence": "Evidence",
    "task": "Tasks",
    "working_memory": "WorkingMemories",
    "episode_state": "EpisodeStates",
    "episode_use": "EpisodeUses",
}
TABLES = {
    "fleet": "Fleets",
    "node": "NodeIdentities",
    "run": "InvalidationRun",
    "impact": "InvalidationImpact",
    "outbox": "InvalidationOutbox",
    "idempotency": "IdempotencyKeys",
    "task_gate": "TaskGates",
    "decision": "Decisions",
    "scheduled_invalidation": "ScheduledInvalidations",
    "tenant": "Tenants",
    "relay_cursor": "RelayCursors",
    "execution": "Executions",
    "checkpoint": "Checkpoints",
    "checkpoint_anchor": "CheckpointAnchors",
    "execution_step": "ExecutionSteps",
    "episode_domain": "EpisodeDomains",
    "episode": "Episodes",
    "episode_embedding": "EpisodeEmbeddings",
    "episode_entity": "EpisodeEntities",
    "entity_relation": "EntityRelations",
    **_VERSIONED,
    **{f"{name}_history": f"{named}History" for name, named in _VERSIONED.items()},
}
"""What tables are called, by their names in Python."""
_SCHEMA = "Memory"
_NAMES = {**TABLES, "clock": "ValidFrom"}  # a fleet's clock is the beginning of its version


class Names(MSIdentifierPreparer):
    """Spells names."""

    def quote(self, ident: str, force: Any = None) -> str:  # noqa: ARG002 (of no effect since long)
        """PascalCase, in brackets where it is a word of the language."""
        name = _NAMES.get(ident) or "".join(p[:1].upper() + p[1:] for p in ident.split("_"))
        return super().quote(name)

    def format_table(self, table: Any, use_schema: bool = True, name: str | None = None) -> str:
        """A table with its schema, as INSERT names it."""
        return f"{_SCHEMA}.{super().format_table(table, use_schema, name)}"

    def _requires_quotes(self, value: str) -> bool:
        return value.lower() in self.reserved_words


class Compiler(MSSQLCompiler):
    """Spells statements."""

    def __init__(self, *arguments: Any, **kw: Any) -> None:
        self._variables: dict[str, str] = {}
        super().__init__(*arguments, **kw)  # type: ignore[no-untyped-call]

    def variable(self, instant: ColumnElement[int], **kw: Any) -> str:
        """A variable that holds an instant: `AS OF` takes no expression."""
        value = self.process(instant, **kw)
        return self._variables.setdefault(value, f"@Instant{len(self._variables) + 1}")

    def visit_table(self, table: Table, **kw: Any) -> str:  # type: ignore[override]
        """A table with its schema, where it is read or written and not merely referred to."""
        text = super().visit_table(table, **kw)
        return f"{_SCHEMA}.{text}" if kw.get("asfrom") or kw.get("ashint") else text

    def visit_select(self, select_stmt: Any, *arguments: Any, **kw: Any) -> str:
        """The statement after the declarations that it needs."""
        text = super().visit_select(select_stmt, *arguments, **kw)  # type: ignore[no-untyped-call]
        return self._declared(text)

    def visit_compound_select(self, cs: Any, *arguments: Any, **kw: Any) -> str:
        """The same for a UNION."""
        text = super().visit_compound_select(cs, *arguments, **kw)  # type: ignore[no-untyped-call]
        return self._declared(text)

    def order_by_clause(self, select: Any, **kw: Any) -> str:
        """An order in sub-selects, too: each has a limit, which the inherited look can't read."""
        text: str = SQLCompiler.order_by_clause(self, select, **kw)  # type: ignore[no-untyped-call]
        return text

    def _declared(self, text: str) -> str:
        if self.stack:
            return text
        values = self._variables.items()
        return "".join(f"DECLARE {name} DATETIME2(6) = {value};\n" for value, name in values) + text


class Dialect(MSDialect_pyodbc):
    """SQL Server 2019 and later over ODBC."""

    supports_statement_cache = True
    preparer = Names  # type: ignore[assignment]
    statement_compiler = Compiler
    server_version_info = (15, 0)  # type: ignore[assignment]
    supports_multivalues_insert = True
    _supports_offset_fetch = True
    # A text bound as VARCHAR would lose what the server's code page has no character for.
    colspecs = {  # noqa: RUF012 (SQLAlchemy's way)
        **MSDialect_pyodbc.colspecs,
        String: MSDialect_pyodbc.colspecs[Unicode],
        Text: MSDialect_pyodbc.colspecs[UnicodeText],
    }

    def initialize(self, connection: Connection) -> None:
        """Asks the server nothing: what it must be is known, and a user may not look."""


registry.register("mssql.memory", __name__, "Dialect")
