"""The gate bites: an error of each kind, planted, is found, and its sound twin is not."""

from __future__ import annotations

import pytest

from tests.tsql.catalogue import Catalogue
from tests.tsql.gate import check, check_schema
from tests.tsql.texts import migration_texts
from tests.tsql.tree import Statement

OUTBOX = "SELECT n.Ordinal FROM Memory.InvalidationOutbox AS n"
MINE = "n.TenantId = ? AND n.FleetId = ?"
FROM = f"FROM Memory.Nodes AS n WHERE {MINE}"
LAST = "CREATE TABLE Memory.IdempotencyKeys ("
CLAIM = "UPDLOCK, READPAST, ROWLOCK, READCOMMITTEDLOCK"
NODES = "SELECT n.Id FROM Memory.Nodes AS n"

PLANTED = [
    ("syntax", f"{NODES} WHERE {MINE} LIMIT 5"),
    ("syntax", f"{NODES} WHERE {MINE} AND n.PinReason ILIKE ?"),
    ("syntax", "DELETE FROM Memory.Nodes WHERE TenantId = ? RETURNING Id"),
    ("syntax", "INSERT INTO Memory.Fleets (TenantId) VALUES (?) ON CONFLICT DO NOTHING"),
    ("syntax", f"SELECT 1 FROM Memory.Nodes FOR SYSTEM_TIME AS OF NOW() AS n WHERE {MINE}"),
    ("syntax", f"SELECT n.Id FROM Memory.Nodes AS n FOR SYSTEM_TIME AS OF ? WHERE {MINE}"),
    ("syntax", "SELECT CAST(? AS BIGINT)::bigint"),
    ("foreign function", "SELECT now()"),
    ("foreign function", f"SELECT IFNULL(n.Confidence, 0) FROM Memory.Nodes AS n WHERE {MINE}"),
    ("foreign function", "SELECT GREATEST(1, 2)"),
    ("foreign name", f"SELECT n.xmin FROM Memory.Nodes AS n WHERE {MINE}"),
    ("foreign name", f"{NODES} WHERE {MINE} AND n.Pinned = true"),
    ("foreign lock", f"{NODES} WHERE {MINE} FOR UPDATE"),
    ("syntax", f"SELECT x.Id FROM ({NODES} WHERE {MINE} ORDER BY n.Id) AS x"),
    ("order", f"SELECT DISTINCT n.Validity FROM Memory.Nodes AS n WHERE {MINE} ORDER BY n.Id"),
    ("order", f"{NODES} WHERE {MINE} UNION ALL {NODES} WHERE {MINE} ORDER BY Validity"),
    ("column name", f"SELECT 1 FROM (SELECT n.Id + 1 FROM Memory.Nodes AS n WHERE {MINE}) AS x"),
    ("column name", f"SELECT 1 FROM (SELECT n.Id, n.RunId AS Id {FROM}) AS x"),
    ("column name", f"WITH x AS (SELECT 1) SELECT n.Id {FROM}"),
    ("group", f"SELECT n.Validity, COUNT(*) {FROM}"),
    ("group", f"SELECT n.Validity + n.Pinned, MAX(n.Id) {FROM} GROUP BY n.Validity"),
    ("recursion", "WITH x AS (SELECT 1 AS a UNION SELECT x.a + 1 FROM x) SELECT x.a FROM x"),
    ("recursion", "WITH x AS (SELECT 1 AS a UNION ALL SELECT TOP 1 x.a FROM x) SELECT x.a FROM x"),
    ("dynamic text", "EXEC (N'SELECT 1')"),
    ("dynamic text", "EXEC sys.sp_executesql @Text"),
    ("table name", "SELECT n.Id FROM Nodes AS n WHERE n.TenantId = ?"),
    ("table name", "SELECT n.Id FROM dbo.Nodes AS n WHERE n.TenantId = ?"),
    ("table name", "SELECT n.Id FROM Memory.Nods AS n WHERE n.TenantId = ?"),
    ("table name", "DELETE FROM Edges WHERE TenantId = ?"),
    ("lock", f"SELECT n.Id FROM Memory.Nodes AS n WITH (NOLOCK) WHERE {MINE}"),
    ("lock", "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"),
    ("lock", f"{OUTBOX} WITH (UPDLOCK, READPAST) WHERE {MINE}"),
    ("lock", f"SELECT n.Id FROM Memory.Nodes AS n WITH ({CLAIM}) WHERE {MINE}"),
    ("syntax", "SELECT 1 FROM Memory.Nodes FOR SYSTEM_TIME AS OF DATEADD(DAY, 1, ?) AS n"),
    ("syntax", "SELECT 1 FROM Memory.Runs AS r, Memory.Nodes FOR SYSTEM_TIME AS OF r.At AS n"),
    ("type", "CREATE TABLE Memory.Flags (Flag BOOLEAN NOT NULL)"),
    ("type", "CREATE TABLE Memory.Notes (Note TEXT NOT NULL)"),
    ("text", "CREATE TABLE Memory.Notes (Note NVARCHAR(10) NOT NULL)"),
    ("text", "CREATE TABLE #Notes (Note NCHAR(10) NOT NULL)"),
    ("text", "CREATE TABLE #Notes (Note VARCHAR(9) COLLATE Latin1_General_100_BIN2 NOT NULL)"),
    ("32-bit integer", "CREATE TABLE Memory.Counts (Number INT NOT NULL)"),
    ("32-bit integer", "CREATE TABLE #Counts (Number INTEGER NOT NULL)"),
    ("32-bit integer", "CREATE PROCEDURE Memory.P @Depth INT AS SELECT @Depth"),
    ("32-bit integer", "SELECT j.A FROM OPENJSON(?) WITH (A INT '$[0]') AS j"),
    ("id", "CREATE TABLE Memory.Things (Id SMALLINT NOT NULL)"),
    ("id", "CREATE TABLE #Things (NodeId SMALLINT NOT NULL)"),
    ("instant", "CREATE TABLE Memory.Times (At DATETIME2(7) NOT NULL)"),
    ("instant", "CREATE TABLE Memory.Times (At DATETIME2 NOT NULL)"),
    ("instant", "SELECT CAST(? AS DATETIME)"),
    ("truncate", "TRUNCATE TABLE Memory.Nodes"),
    ("truncate", "TRUNCATE TABLE Memory.EdgesHistory"),
    ("history table", "ALTER TABLE Memory.Nodes SET (SYSTEM_VERSIONING = ON)"),
    (
        "history table",
        "ALTER TABLE Memory.Edges SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = Memory.H))",
    ),
]  # fmt: skip

SOUND = [
    f"SELECT TOP (5) n.Id FROM Memory.Nodes AS n WHERE {MINE} ORDER BY n.Id",
    f"SELECT n.Id FROM Memory.Nodes FOR SYSTEM_TIME AS OF ? AS n WHERE {MINE}",
    "SELECT 'LIMIT ? :name now()' AS [now] -- ? xmin",
    "CREATE TABLE #Things (NodeId BIGINT NOT NULL, Kind SMALLINT NOT NULL)",
    "SELECT CAST(? AS DATETIME2(6)), COALESCE(?, 1), NULLIF(?, 0)",
    "TRUNCATE TABLE #Raised",
    f"SELECT x.Id FROM (SELECT TOP (5) n.Id {FROM} ORDER BY n.RunId) AS x ORDER BY x.Id",
    f"SELECT DISTINCT n.Validity AS v {FROM} ORDER BY v",
    f"SELECT n.Id {FROM} UNION ALL SELECT n.RunId {FROM} ORDER BY Id",
    f"SELECT n.Pinned, COUNT(*), (SELECT MAX(e.Id) FROM #X AS e) {FROM} GROUP BY n.Pinned",
    f"SELECT n.Id, ROW_NUMBER() OVER (ORDER BY n.RunId), SUM(n.RunId) OVER (ORDER BY n.Id) {FROM}",
    "WITH x (a) AS (SELECT 1 UNION ALL SELECT x.a + 1 FROM x WHERE x.a < 3) SELECT x.a FROM x",
    "ALTER TABLE Memory.Nodes SET (SYSTEM_VERSIONING = OFF)",
    f"{OUTBOX} WITH ({CLAIM}) WHERE {MINE}",
    f"UPDATE n SET Pinned = 1 OUTPUT inserted.Id {FROM}",
    f"WITH own AS ({NODES} WHERE {MINE}) SELECT o.Id FROM own AS o JOIN sys.tables AS t ON 1 = 1",
]


def rules(schema: Catalogue, text: str) -> list[str]:
    return [finding.rule for finding in check([Statement("planted", text)], schema)]


@pytest.mark.parametrize(("rule", "text"), PLANTED)
def test_a_planted_error_is_found(rule: str, text: str, schema: Catalogue) -> None:
    assert rule in rules(schema, text)


@pytest.mark.parametrize("text", SOUND)
def test_a_sound_statement_passes(text: str, schema: Catalogue) -> None:
    assert rules(schema, text) == []


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("history table", "HISTORY_TABLE = Memory.NodesHistory", "HISTORY_TABLE = NodesHistory"),
        ("history table", "DATA_CONSISTENCY_CHECK = ON", "DATA_CONSISTENCY_CHECK = OFF"),
        ("history table", ",\n    HISTORY_RETENTION_PERIOD = 3 YEARS", ""),
        ("history table", "CREATE TABLE Memory.EdgesHistory", "CREATE TABLE Memory.EdgeHistory"),
        ("history table", "    Pinned SMALLINT NOT NULL,\n", ""),
        ("history table", "    Type SMALLINT NOT NULL,\n", "    Type BIGINT NOT NULL,\n"),
        ("history table", "    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,\n",
         "    Note NVARCHAR(MAX) NULL,\n"),
        ("history table", "    RowToken ROWVERSION NOT NULL,\n    ValidFrom DATETIME2(6) NOT NULL",
         "    RowToken ROWVERSION NOT NULL UNIQUE,\n    ValidFrom DATETIME2(6) NOT NULL"),
        ("history table", "Memory.NodesHistory (ValidTo, ValidFrom)",
         "Memory.NodesHistory (ValidFrom, ValidTo)"),
        ("history table", "(ValidTo, ValidFrom)\n    WITH (DATA_COMPRESSION = PAGE)",
         "(ValidTo, ValidFrom)\n    WITH (DATA_COMPRESSION = ROW)"),
        ("instant", "CreatedAt DATETIME2(6)", "CreatedAt DATETIME2(7)"),
        ("row-level security",
         "    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Edges,\n", ""),
        ("row-level security",
         ",\n    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EvidenceHistory",
         ""),
        ("row-level security",
         "    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Nodes,\n", ""),
        ("row-level security", "Memory.TenantPredicate(TenantId) ON Memory.InvalidationRun",
         "Memory.TenantPredicate(FleetId) ON Memory.InvalidationRun"),
        ("row-level security", "STATE = ON", "STATE = OFF"),
        ("32-bit integer", "Ordinal BIGINT NOT NULL", "Ordinal INT NOT NULL"),
        ("history table", LAST, f"ALTER TABLE Memory.Nodes SET (SYSTEM_VERSIONING = OFF);\n{LAST}"),
        ("history table", LAST, f"ALTER TABLE Memory.Nodes ADD Weight BIGINT NULL;\n{LAST}"),
        ("tenant predicate", "c.NodeId AND s.TenantId = @TenantId AND", "c.NodeId AND"),
    ],
)  # fmt: skip
def test_an_error_planted_in_the_migrations_is_found(rule: str, old: str, new: str) -> None:
    texts = [Statement(each.name, each.text.replace(old, new, 1)) for each in migration_texts()]
    assert texts != migration_texts()
    assert rule in [finding.rule for finding in check_schema(texts)]
