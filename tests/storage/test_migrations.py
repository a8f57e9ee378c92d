"""Every engine counts the same migrations, so that a number says where any database stands."""

from __future__ import annotations

from retrograph.sql.loader import migrations


def test_every_engine_has_the_same_numbers_without_a_gap() -> None:
    numbers = {
        engine: [step.number for step in migrations(engine)]
        for engine in ("sqlite", "mariadb", "mssql")
    }
    assert numbers["sqlite"] == list(range(1, len(numbers["sqlite"]) + 1))
    assert numbers["sqlite"] == numbers["mariadb"] == numbers["mssql"]
