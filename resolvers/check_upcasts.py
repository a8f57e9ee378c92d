"""A dry run of the upcasters over everything that is stored; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from retrograph.resolvers.scope import Scope
from retrograph.rules.chain import Stored, is_whole
from retrograph.rules.errors import RetrographError
from retrograph.storage.chains import chain_rows
from retrograph.storage.checkpoints import damaged
from retrograph.storage.executions import execution_names

NAMES = 100
ROWS = 32
"""Checkpoints read at a time: a payload may take 1 MB."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of a checkpoint: `fault` None where it would load."""

    fleet_id: int
    execution_id: str
    sequence: int
    fault: RetrographError | None


def check_upcasts(scope: Scope) -> Iterator[Checked]:
    """Loads each checkpoint of every fleet that the caller holds, as it is now."""
    for fleet_id in scope.held_fleets():
        after: int | None = None
        while names := _names(scope, fleet_id, after):
            for number, name in names:
                yield from _check(scope, fleet_id, number, name)
                after = number


def _names(scope: Scope, fleet_id: int, after: int | None) -> list[tuple[int, str]]:
    with scope.snapshot(fleet_id) as s:
        return execution_names(s, NAMES, after)


def _check(scope: Scope, fleet_id: int, number: int, name: str) -> Iterator[Checked]:
    after = 0
    while True:
        with scope.snapshot(fleet_id) as s:
            rows = chain_rows(s, number, name, after, ROWS)
        for row in rows:
            if row.erasure is not None and is_whole(row):
                continue
            yield Checked(fleet_id, name, row.sequence, _fault(scope, name, row))
        if len(rows) < ROWS:
            return
        after = rows[-1].sequence


def _fault(scope: Scope, name: str, row: Stored) -> RetrographError | None:
    if row.link is None or not is_whole(row):
        return damaged(name, row.sequence)
    try:
        scope.upcasters.upcast(row.link.schema_version, row.link.payload.decode())
    except RetrographError as error:
        return error
    return None
