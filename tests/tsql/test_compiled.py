"""Every statement that storage builds passes the gate as it is spelt for SQL Server."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Executable, TextClause, create_engine, event
from sqlalchemy.sql import ClauseElement

from retrograph.resolvers.scope import Role, Scope
from retrograph.storage import prepared
from retrograph.storage.as_of import native_arms, native_keyed_arms
from retrograph.storage.mssql.dialect import TABLES, URL
from retrograph.storage.store import open_store
from retrograph.storage.tables import metadata
from tests.clock import ManualClock
from tests.odbc import pyodbc
from tests.storage.tour import read_all, read_impacts, write_all
from tests.tsql.catalogue import Catalogue
from tests.tsql.gate import check
from tests.tsql.tree import Statement, parse

DIALECT = create_engine(URL, module=pyodbc).dialect
OF_SQLITE = re.compile("History|IdSequence|SET ValidFrom|INTO Memory.Fleets")
"""What only an engine without history, sequences and a clock of its own is sent."""


class Native:
    """The arms of an engine that keeps history itself."""

    arms = staticmethod(native_arms)
    keyed_arms = staticmethod(native_keyed_arms)


@dataclass
class Seen:
    """The statements of a tour: those built for a frame anew, for this engine."""

    texts: dict[str, str] = field(default_factory=dict)
    fetching: bool = False

    def add(self, built: Executable, names: Sequence[str] = (), *, anew: bool = False) -> None:
        assert isinstance(built, ClauseElement)
        compiled = built.compile(
            dialect=DIALECT,
            column_keys=names or None,
            compile_kwargs={"render_postcompile": True},
        )
        if anew or not OF_SQLITE.search(str(compiled)):
            self.texts.setdefault(str(compiled), f"statement {len(self.texts) + 1}")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A tour on SQLite, of which every statement is compiled for this engine, too."""
    found, folder = Seen(), tmp_path_factory.mktemp("tour")
    with pytest.MonkeyPatch.context() as patch:
        original = prepared.fetch

        def fetch(s: Any, build: Any, *shape: Hashable, **values: object) -> Any:
            frame = prepared.Frame("mssql", s.current, Native())  # type: ignore[arg-type]
            scope = {"tenant_id": 1, "fleet_id": 1, "instant": 0}
            found.add(build(frame, *shape).params(**scope, **values), anew=True)
            found.fetching = True
            try:
                return original(s, build, *shape, **values)
            finally:
                found.fetching = False

        for module in list(sys.modules.values()):
            if getattr(module, "fetch", None) is original:
                patch.setattr(module, "fetch", fetch)
        _tour(found, folder)
    return found


def _tour(found: Seen, folder: Path) -> None:
    def note(
        conn: Any, clauseelement: Any, multiparams: Any, params: Any, execution_options: Any
    ) -> None:
        of_its_own = isinstance(clauseelement, Executable) and not found.fetching
        if of_its_own and not isinstance(clauseelement, TextClause):
            found.add(clauseelement, list(params or (multiparams[0] if multiparams else ())))

    store = open_store(str(folder / "memory.db"), clock=ManualClock())
    event.listen(Engine, "before_execute", note)
    try:
        scope = Scope(store, 1, None, frozenset(Role))
        made = write_all(scope, 1)
        for at in (None, made.began):
            read_all(scope, 1, made, at)
        read_impacts(scope, 1, made)
    finally:
        event.remove(Engine, "before_execute", note)
        store.close()


def test_the_statements_of_a_tour_pass_the_gate(seen: Seen, schema: Catalogue) -> None:
    ours = {text: name for text, name in seen.texts.items() if "Memory." in text}
    assert len(ours) > 40
    found = check([Statement(name, text) for text, name in ours.items()], schema)
    texts = {name: text for text, name in ours.items()}
    assert [f"{each}\n{texts[each.where]}" for each in found] == []


def test_every_name_is_one_of_the_schema(seen: Seen, schema: Catalogue) -> None:
    """The parser takes any name: these are compared with what the migrations make."""
    wrong = set()
    for text, name in seen.texts.items():
        script, _ = parse(Statement(name, text))
        for node in script.all("NamedTableReference"):
            table = str(node.SchemaObject.BaseIdentifier.Value)
            if node.SchemaObject.SchemaIdentifier is not None:
                wrong |= {table} - schema.tables.keys()
    assert wrong == set()
    assert set(TABLES.values()) <= schema.tables.keys()


def test_every_table_of_python_has_its_columns_in_the_schema(schema: Catalogue) -> None:
    quote = DIALECT.identifier_preparer.quote
    for name, table in metadata.tables.items():
        if name != "id_sequence":  # sequences are no tables here
            columns = {quote(column.name).strip("[]") for column in table.columns}
            assert columns - schema.tables[quote(name)].columns.keys() == set(), name
