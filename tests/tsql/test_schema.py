"""The schema that the migrations make is the one that was designed, as far as its texts tell."""

from __future__ import annotations

import re

import pytest

from tests.shared import ROOT
from tests.tsql.catalogue import Catalogue, Index, Table
from tests.tsql.gate import check_schema
from tests.tsql.texts import migration_texts
from tests.tsql.tree import Finding, Statement, parse

WIDE = "nvarchar ( max )"
"""Texts without a limit are read by row, once those few are known that are wanted."""
PREDICATE = "PREDICATE Memory.TenantPredicate(TenantId) ON"
SCOPE = ("tenantid", "fleetid")
PERIOD = ("validto", "validfrom")
MUTABLE = ("InvalidationRun",)
"""What is changed and keeps no history: who changes it must be able to tell."""


def versioned(schema: Catalogue) -> list[Table]:
    return [table for table in schema.tables.values() if table.history is not None]


def indexes(schema: Catalogue, table: str | None, *columns: str) -> list[Index]:
    found = [index for index in schema.indexes if index.table == table]
    return [index for index in found if index.columns[: len(columns)] == columns]


def test_every_history_has_its_tables_name_and_is_kept_for_three_years(schema: Catalogue) -> None:
    found = versioned(schema)
    assert {"Edges", "Nodes"} <= {table.name for table in found}
    assert [table for table in found if table.history != f"{table.name}History"] == []
    assert {table.kept for table in found} == {"3 Years"}


def test_every_index_of_a_history_is_compressed_by_page(schema: Catalogue) -> None:
    histories = schema.histories()
    assert [i.name for i in schema.indexes if i.table in histories and not i.compressed] == []


def test_a_version_is_found_by_id_and_read_from_the_index_alone(schema: Catalogue) -> None:
    """What is narrow, at least: texts without a limit are left to the row."""
    for table in versioned(schema):
        if "Id" not in table.columns:
            continue  # the clock, whose id is the fleet's
        (index,) = indexes(schema, table.history, "id", *PERIOD)
        narrow = {n.lower() for n, kind in table.columns.items() if not kind.startswith(WIDE)}
        missing = narrow - {"rowtoken"} - {*index.columns} - index.included
        assert missing <= {"awaiting", "componentid"}, index.name


def test_edges_are_found_by_both_ends_in_the_present_and_in_the_past(schema: Catalogue) -> None:
    for end, other in (("sourceid", "targetid"), ("targetid", "sourceid")):
        (now,) = indexes(schema, "Edges", *SCOPE, end)
        (then,) = indexes(schema, "EdgesHistory", *SCOPE, end, *PERIOD)
        assert {other, "type"} <= {*now.columns}
        assert {other, "type", "id"} <= then.included


@pytest.mark.parametrize("table", ["Nodes", "NodeIdentities", "InvalidationRun"])
def test_what_is_listed_has_an_index_by_tenant_and_fleet(schema: Catalogue, table: str) -> None:
    assert f"IX_{table}_Tenant_Fleet" in [i.name for i in indexes(schema, table, *SCOPE, "id")]


def test_every_row_that_changes_has_a_token(schema: Catalogue) -> None:
    tokens = {n for n, table in schema.tables.items() if "RowToken" in table.columns}
    changing = {table.name for table in versioned(schema)} | {*MUTABLE}
    assert changing | schema.histories() <= tokens
    kinds = {schema.tables[name].columns["RowToken"] for name in tokens}
    assert kinds == {"rowversion not null"}


def test_states_are_small_and_ids_large(schema: Catalogue) -> None:
    nodes = schema.tables["Nodes"].columns
    assert nodes["Validity"] == nodes["Projected"] == "smallint not null"
    assert nodes["Id"] == schema.tables["Edges"].columns["Id"] == "bigint not null"


def test_the_procedure_ends_its_transaction_with_the_first_error_and_tells_it() -> None:
    """Whatever the driver has set: XACT_ABORT, and a CATCH that rolls back and throws on."""
    scripts = [parse(text)[0] for text in migration_texts()]
    (procedure,) = (
        node
        for script in scripts
        for node in script.all("CreateProcedureStatement")
        if str(node.ProcedureReference.Name.BaseIdentifier.Value) == "InvalidateMemoryGraph"
    )
    (script,) = (s for s in scripts if procedure in list(s.all("CreateProcedureStatement")))
    set_on = [str(n.Options) for n in script.all("PredicateSetStatement") if bool(n.IsOn)]
    assert any("XactAbort" in each for each in set_on)
    (block,) = script.all("TryCatchStatement")
    last = list(block.CatchStatements.Statements)[-1]
    assert type(last).__name__ == "ThrowStatement"
    assert last.ErrorNumber is None


def altered(*cut: str) -> list[Finding]:
    """What the gate says of the documented change of a versioned table, without some of it."""
    page = (ROOT / "docs" / "sql-server.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for part in cut:
        assert part in text
        text = text.replace(part, "")
    return check_schema([*migration_texts(), Statement("documented.sql", text)])


def test_the_documented_change_of_a_versioned_table_passes() -> None:
    assert altered() == []


@pytest.mark.parametrize(
    ("rule", "cut"),
    [
        ("history table", "ALTER TABLE Memory.NodesHistory ADD Weight BIGINT NULL;\n"),
        ("history table", "    HISTORY_TABLE = Memory.NodesHistory,\n"),
        ("history table", ",\n    HISTORY_RETENTION_PERIOD = 3 YEARS"),
        ("row-level security", f"    ADD BLOCK {PREDICATE} Memory.Nodes,\n"),
        ("row-level security", f",\n    ADD FILTER {PREDICATE} Memory.NodesHistory"),
    ],
)  # fmt: skip
def test_a_change_of_a_versioned_table_that_leaves_something_out_is_found(
    rule: str, cut: str
) -> None:
    assert rule in [finding.rule for finding in altered(cut)]
