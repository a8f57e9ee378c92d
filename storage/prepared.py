"""Statements that are built once and executed for any snapshot.

Building a statement costs several times what a point read costs, so each is built once for an
engine, for the present or the past, and for its shape (a direction, a filter that is given or
not).  Values, the scope and the instant among them, are parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec

from sqlalchemy import BigInteger, ColumnElement, Executable, Insert, Table, bindparam, insert

from retrograph.storage.as_of import TENANT, Arm
from retrograph.storage.aside import aside
from retrograph.storage.profile import Profile
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.tables import Versioned

P = ParamSpec("P")

FLEET = bindparam("fleet_id", type_=BigInteger)
INSTANT: ColumnElement[int] = bindparam("instant")
"""Takes the type of the column it is compared with: an integer, or a period's own type."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the text of a statement depends on: the engine, and whether it reads the present."""

    engine: str
    current: bool
    profile: Profile = field(compare=False, repr=False)

    def arms(self, versioned: Versioned) -> list[Arm]:
        """See `retrograph.storage.profile.Profile.arms`."""
        return self.profile.arms(versioned, INSTANT, current=self.current)

    def keyed_arms(self, versioned: Versioned, key: ColumnElement[int]) -> list[Arm]:
        """See `retrograph.storage.profile.Profile.keyed_arms`."""
        return self.profile.keyed_arms(versioned, INSTANT, key, current=self.current)


def prepared(build: Callable[Concatenate[Frame, P], Executable]) -> Callable[..., Executable]:
    """Makes `build` keep the statements it has built, by frame and (hashable) shape."""
    return lru_cache(maxsize=256)(build)


def fetch(
    s: Snapshot, build: Callable[..., Executable], *shape: Hashable, **values: object
) -> Sequence[tuple[Any, ...]]:
    """The rows of a prepared statement, with the snapshot's scope and instant and `values`."""
    statement = build(Frame(s.profile.name, s.current, s.profile), *shape)
    values.update(tenant_id=s.tenant_id, fleet_id=s.fleet_id, instant=s.instant)
    return s.profile.fetch(s.connection, statement, values)


def enter(s: Snapshot, table: Table, row: Mapping[str, object]) -> None:
    """Inserts a row, which gives every column of its table."""
    s.profile.send(s.connection, _inserting(table), row)


@lru_cache(maxsize=64)
def _inserting(table: Table) -> Insert:
    return insert(table)


def scoped(table: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The predicate that every statement carries: rows of this tenant and fleet."""
    return table.c.tenant_id == TENANT, table.c.fleet_id == FLEET


def lasted(closed: Any) -> ColumnElement[bool]:
    """That a closed version had a length.

    An engine that keeps history by itself may keep what one transaction wrote and wrote over.
    """
    longer: ColumnElement[bool] = aside(closed.c.valid_from) < closed.c.valid_to
    return longer


def within_scope(table: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The same for rows that are found by id: a test, and no way in.

    An index that begins with the scope could otherwise look better than the id.
    """
    return aside(table.c.tenant_id) == TENANT, aside(table.c.fleet_id) == FLEET
