"""The bridge to ODBC, for files of tests that can't do without: they are skipped aloud as a whole.

What all tests import, the stores of the exam above all, calls `driver_manager` when it is asked
for a server.
"""

from __future__ import annotations

from tests.missing import driver_manager

driver_manager()

import pyodbc  # noqa: E402 (it would fail where the line before says why)

__all__ = ["pyodbc"]
