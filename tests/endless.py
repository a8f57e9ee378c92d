"""A statement that no engine comes to the end of."""

from __future__ import annotations

_TEN = "(" + " UNION ALL ".join(["SELECT 1 AS one"] * 10) + ") AS "
ENDLESS = "SELECT count(*) AS many FROM " + ", ".join(f"{_TEN} t{number}" for number in range(15))
