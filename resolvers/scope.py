"""Who asks: the tenant, fleets and roles come from the caller, never from an argument."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from retrograph.rules.errors import NotFound
from retrograph.rules.limits import MAX_PAYLOAD_BYTES
from retrograph.rules.upcasting import NO_UPCASTERS, Upcasters
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store
from retrograph.storage.write import Write

T = TypeVar("T")


class Role(IntEnum):
    """What a caller may do: read; write; claim and complete work; everything."""

    AUDITOR = 1
    CONTROLLER = 2
    WORKER = 3
    ADMIN = 4


@dataclass(frozen=True, slots=True)
class Scope:
    """A caller's part of a store; `fleet_ids` None means every fleet of the tenant.

    `upcasters` bring the payloads of checkpoints to their current versions when they are loaded;
    one that is committed has at most `checkpoint_bytes`.
    A fleet that the caller doesn't hold looks exactly like one that doesn't exist.
    """

    store: Store
    tenant_id: int
    fleet_ids: frozenset[int] | None
    roles: frozenset[Role]
    upcasters: Upcasters = NO_UPCASTERS
    checkpoint_bytes: int = MAX_PAYLOAD_BYTES

    def snapshot(self, fleet_id: int, at: int | None = None) -> AbstractContextManager[Snapshot]:
        """The fleet as of `min(at, last committed clock)`; raises `NotFound`, `InstantInFuture`."""
        self._check(fleet_id)
        return self.store.read(self.tenant_id, fleet_id, at)

    def clock(self, fleet_id: int) -> int:
        """The last committed instant of a fleet; raises `NotFound`."""
        self._check(fleet_id)
        return self.store.clock(self.tenant_id, fleet_id)

    def write(self, fleet_id: int, job: Callable[[Write], T]) -> T:
        """Runs `job` in a write transaction of the fleet; raises `NotFound`."""
        self._check(fleet_id)
        return self.store.write(self.tenant_id, fleet_id, job)

    def write_all(self, fleet_ids: Collection[int], job: Callable[[dict[int, Write]], T]) -> T:
        """Runs `job` in one write transaction of several fleets, which are made where missing."""
        for fleet_id in fleet_ids:
            self._check(fleet_id)
        return self.store.write_all(self.tenant_id, sorted(fleet_ids), job)

    def held_fleets(self) -> list[int]:
        """The ids of the fleets that exist and that the caller holds, ascending."""
        known = self.store.fleet_ids(self.tenant_id)
        return [each for each in known if self.fleet_ids is None or each in self.fleet_ids]

    def _check(self, fleet_id: int) -> None:
        if self.fleet_ids is not None and fleet_id not in self.fleet_ids:
            raise NotFound.fleet(fleet_id)
