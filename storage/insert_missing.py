"""An insert that leaves a row alone which is there already, also when another writer is faster.

SQL Server has no word for it: there the tables' own keys ignore duplicates.
"""

from __future__ import annotations

from sqlalchemy import Insert, Table, insert


def insert_missing(table: Table) -> Insert:
    """An INSERT that does nothing where a row of the same key is there."""
    statement = insert(table).prefix_with("OR IGNORE", dialect="sqlite")
    for dialect in ("mysql", "mariadb"):
        statement = statement.prefix_with("IGNORE", dialect=dialect)
    return statement
