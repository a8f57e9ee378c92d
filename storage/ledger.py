"""Which migrations a database still lacks; one law for every engine."""

from __future__ import annotations

from collections.abc import Mapping

from retrograph.rules.errors import MigrationChanged, SchemaTooNew
from retrograph.sql.loader import Migration, migrations


def told(step: Migration) -> str:
    """A line that says that a step was applied."""
    return f"Applied migration {step.number:03} ({step.name})."


def pending(engine: str, name: str, applied: Mapping[int, str]) -> list[Migration]:
    """The steps that a database `name` lacks, given the checksums of those it has, by number.

    Raises `SchemaTooNew` and `MigrationChanged`.
    """
    known = migrations(engine)
    if applied and max(applied) > known[-1].number:
        raise SchemaTooNew(
            f"{name} was migrated to step {max(applied)} by a later version; this one knows "
            f"{known[-1].number} steps. Use that later version."
        )
    for step in known:
        if applied.get(step.number, step.checksum) != step.checksum:
            raise MigrationChanged(
                f"Migration {step.number:03} ({step.name}) was applied to {name} with another "
                "text. Restore the shipped file: a migration is never edited, only followed."
            )
    return [step for step in known if step.number not in applied]
