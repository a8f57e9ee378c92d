"""What a read sees: one connection, one fleet, one instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from retrograph.storage.profile import Profile


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A fleet at `instant` (UTC microseconds), read through one open transaction.

    `clock` is the fleet's last committed instant as this transaction sees it, and `began` that of
    its first write: `instant` is never later than the one, and may be earlier than the other.
    """

    connection: Connection
    profile: Profile
    tenant_id: int
    fleet_id: int
    instant: int
    clock: int
    began: int

    @property
    def current(self) -> bool:
        """Whether the open versions alone answer, since none can be younger."""
        return self.instant == self.clock

    @property
    def blank(self) -> bool:
        """Whether it lies before all history: the fleet has no node that could be missing."""
        return self.instant < self.began
