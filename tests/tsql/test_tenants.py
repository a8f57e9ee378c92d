"""The rule on tenant predicates: what binds a table to a tenant, and what only seems to."""

from __future__ import annotations

import pytest

from tests.tsql.catalogue import Catalogue
from tests.tsql.rules_tenant import predicates
from tests.tsql.tree import Statement, parse

EDGES = "Memory.Edges AS e"
NODES = "Memory.Nodes AS n"

BOUND = [
    f"SELECT 1 FROM {NODES} WHERE n.TenantId = ?",
    f"SELECT 1 FROM {NODES} WHERE (? = n.TenantId AND n.Id > 1)",
    "SELECT Id FROM Memory.Nodes WHERE TenantId = CAST(? AS BIGINT)",
    f"SELECT 1 FROM {NODES} JOIN {EDGES} ON e.TenantId = n.TenantId WHERE n.TenantId = ?",
    f"SELECT 1 FROM {NODES} LEFT JOIN {EDGES} ON e.TenantId = ? WHERE n.TenantId = ?",
    f"SELECT 1 FROM {NODES} LEFT JOIN {EDGES} ON e.TenantId = n.TenantId WHERE n.TenantId = ?",
    (
        f"SELECT 1 FROM {NODES} WHERE n.TenantId = ?"
        f" AND EXISTS (SELECT 1 FROM {EDGES} WHERE e.TenantId = n.TenantId)"
    ),
    "SELECT 1 FROM Memory.Nodes FOR SYSTEM_TIME AS OF ? AS n WHERE n.TenantId = ?",
    (
        f"WITH x AS (SELECT n.TenantId FROM {NODES} WHERE n.TenantId = ?)"
        f" SELECT 1 FROM x JOIN {EDGES} ON e.TenantId = x.TenantId"
    ),
    "UPDATE Memory.Nodes SET Pinned = 1 WHERE TenantId = ?",
    f"UPDATE n SET Pinned = 1 FROM {NODES} WHERE n.TenantId = ?",
    f"DELETE e FROM {EDGES} JOIN {NODES} ON n.TenantId = e.TenantId WHERE e.TenantId = ?",
    "INSERT INTO Memory.Fleets (TenantId, FleetId, CreatedAt) VALUES (?, ?, ?)",
    (
        f"MERGE INTO {NODES} USING (VALUES (1)) AS v (Id) ON n.Id = v.Id AND n.TenantId = ?"
        " WHEN MATCHED THEN UPDATE SET Pinned = 1"
        " WHEN NOT MATCHED BY SOURCE AND n.TenantId = ? THEN DELETE;"
    ),
    "SELECT j.value FROM OPENJSON(?) AS j",
    "SELECT t.TenantId FROM Memory.Tenants AS t ORDER BY t.TenantId",
]

LOOSE = [
    f"SELECT 1 FROM {NODES} JOIN Memory.Tenants AS t ON t.TenantId = n.TenantId",
    f"SELECT 1 FROM {NODES}",
    f"SELECT 1 FROM {NODES} WHERE n.TenantId = 1",
    f"SELECT 1 FROM {NODES} WHERE n.TenantId <> ?",
    f"SELECT 1 FROM {NODES} WHERE n.TenantId = ? OR n.Id = ?",
    f"SELECT 1 FROM {NODES} WHERE NOT n.TenantId = ?",
    f"SELECT 1 FROM {NODES} WHERE n.FleetId = ?",
    f"SELECT 1 FROM {NODES} JOIN {EDGES} ON e.TenantId = n.TenantId",
    f"SELECT 1 FROM {NODES} JOIN {EDGES} ON e.SourceId = n.Id WHERE n.TenantId = ?",
    (
        f"SELECT 1 FROM {NODES} LEFT JOIN {EDGES} ON e.Id = n.Id AND n.TenantId = ?"
        " WHERE e.TenantId = ?"
    ),
    f"SELECT 1 FROM {NODES} FULL JOIN {EDGES} ON e.TenantId = ? AND n.TenantId = ?",
    f"SELECT 1 FROM {NODES} WHERE n.TenantId = ? AND EXISTS (SELECT 1 FROM {EDGES})",
    f"SELECT 1 FROM {NODES} WHERE n.TenantId = ? UNION ALL SELECT 1 FROM {EDGES}",
    "SELECT 1 FROM Memory.NodesHistory AS h WHERE h.Id = ?",
    "SELECT 1 FROM Memory.Nodes AS n, Memory.Edges AS e WHERE TenantId = ?",
    "UPDATE Memory.Nodes SET Pinned = 1 WHERE Id = ?",
    f"UPDATE n SET Pinned = 1 FROM {NODES} JOIN {EDGES} ON e.Id = n.Id WHERE e.TenantId = ?",
    f"UPDATE Memory.Nodes SET Pinned = 1 FROM {EDGES} WHERE e.TenantId = ?",
    "DELETE FROM Memory.Evidence WHERE Id = ?",
    "INSERT INTO Memory.Fleets (FleetId) VALUES (?)",
    "INSERT INTO Memory.Fleets VALUES (?, ?, ?)",
    (
        f"MERGE INTO {NODES} USING (VALUES (1)) AS v (Id) ON n.Id = v.Id"
        " WHEN MATCHED THEN UPDATE SET Pinned = 1;"
    ),
    (
        f"MERGE INTO {NODES} USING (VALUES (1)) AS v (Id) ON n.Id = v.Id AND n.TenantId = ?"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE;"
    ),
]


def loose(text: str, schema: Catalogue) -> list[str]:
    script, errors = parse(Statement("planted", text))
    assert errors == ()
    return [finding.message for finding in predicates(script, schema)]


@pytest.mark.parametrize("text", BOUND)
def test_a_bound_statement_passes(text: str, schema: Catalogue) -> None:
    assert loose(text, schema) == []


@pytest.mark.parametrize("text", LOOSE)
def test_a_loose_statement_is_found(text: str, schema: Catalogue) -> None:
    assert loose(text, schema)


def test_the_fleet_is_asked_for_where_it_is_wanted(schema: Catalogue) -> None:
    text = f"SELECT 1 FROM {NODES} JOIN {EDGES} ON e.TenantId = ? AND e.FleetId = ?"
    script, _ = parse(Statement("planted", f"{text} WHERE n.TenantId = ?"))
    (found,) = predicates(script, schema, ("TenantId", "FleetId"))
    assert found.message == "Nodes AS n lacks FleetId = a parameter"
