"""What the server refuses, the stand-in does by the same number; what it does not know, by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tsql.driver import Server
from tests.tsql.sessions import FLEET, FLEETS, NODE, Sessions, begin, refused


@pytest.fixture(autouse=True)
def unjudged(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate would refuse some of these texts before the stand-in saw them."""
    monkeypatch.setattr(server.recorder, "judging", False)


@pytest.mark.parametrize(
    ("expected", "text", "values"),
    [
        (206, f"{FLEETS} AND f.ValidFrom > ?", (1, 7)),
        (241, f"{FLEETS} AND f.ValidFrom > ?", (1, "yesterday")),
        (242, f"{FLEETS} AND f.ValidFrom > ?", (1, "2026-02-30")),
        (207, "INSERT INTO Memory.Fleets (TenantId, Nothing) VALUES (?, 1)", (1,)),
        (208, "SELECT 1 FROM Memory.Nothing AS n", ()),
        (208, "SELECT 1 FROM Nothing.Nodes AS n", ()),
        (2812, "EXEC Memory.Nothing", ()),
        (2627, FLEET, (1,)),
        (515, "INSERT INTO Memory.Fleets (TenantId, FleetId) VALUES (?, 2)", (1,)),
        (547, NODE.replace("?, 1, '2", "?, 3, '2"), (1, "a")),
        (8152, NODE, (1, "a" * 2001)),
        (8114, "SELECT CAST(? AS BIGINT)", ("one",)),
        (8115, "SELECT CAST(? AS SMALLINT)", (70_000,)),
        (8115, "SELECT DATEADD(MICROSECOND, ?, SYSUTCDATETIME())", (2**31,)),
        (271, "INSERT INTO Memory.NodeIdentities (TenantId, KeyHash) VALUES (?, NULL)", (1,)),
        (272, "UPDATE Memory.Nodes SET RowToken = NULL WHERE TenantId = ?", (1,)),
        (13536, "INSERT INTO Memory.Fleets (TenantId, ValidFrom) VALUES (?, '2026-03-01')", (1,)),
        (13537, "UPDATE Memory.Fleets SET ValidTo = '2026-03-01' WHERE TenantId = ?", (1,)),
        (13559, "DELETE FROM Memory.FleetsHistory WHERE TenantId = ?", (1,)),
        (2714, "CREATE SEQUENCE Memory.NodeIds AS BIGINT", ()),
        (10738, f"INSERT INTO #X (A) VALUES {', '.join(['(1)'] * 1001)}", ()),
        (8003, "SELECT 1", (1,) * 2101),
    ],
)  # fmt: skip
def test_what_the_server_refuses_is_refused(
    expected: int, text: str, values: tuple[Any, ...], sessions: Sessions
) -> None:
    connection = begin(sessions)
    if expected == 8003:
        text = f"SELECT {', '.join('?' * len(values))}"
    refused(expected, connection, text, *values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT CHECKSUM(1)", "checksum"),
        ("SELECT ? + N'x'", r"\+ of texts"),
        ("SELECT 1 INTO #X", "INTO"),
        (FLEETS.replace("f W", "f WITH (NOLOCK) W"), "NoLock"),
        ("SELECT 1 FROM #A AS a FULL JOIN #B AS b ON a.Id = b.Id", "Full"),
        ("SELECT 1 FROM #X AS a OUTER APPLY (SELECT 2 AS y) AS b", "OuterApply"),
        ("SELECT CONVERT(VARCHAR(10), SYSUTCDATETIME(), 120)", "style 120"),
        ("SELECT STRING_AGG(j.value, ',') WITHIN GROUP (ORDER BY j.value) FROM OPENJSON(?) AS j",
         "STRING_AGG"),
        ("DELETE TOP (1) FROM #X", "TOP"),
        ("DECLARE @t TABLE (Id BIGINT NOT NULL)", "DeclareTableVariable"),
        ("SET DATEFIRST 1", "SET"),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "Serializable"),
        ("EXEC sys.sp_executesql N'SELECT 1'", "sp_executesql|argument"),
        ("SELECT SUM(x.A) OVER (ORDER BY x.A ROWS 1 PRECEDING) FROM #X AS x", "WindowFrame"),
        (FLEETS.replace("Fleets AS", "Fleets FOR SYSTEM_TIME ALL AS"), "SYSTEM_TIME"),
    ],
)  # fmt: skip
def test_what_the_stand_in_does_not_know_it_refuses_by_name(
    text: str, said: str, sessions: Sessions
) -> None:
    values = ["[]" if "OPENJSON" in text else "1"] * text.count("?")
    with pytest.raises(NotImplementedError, match=said):
        sessions.open().execute(text, *values)
