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

    `current` is true when `instant` is the fleet's last committed clock as this transaction sees
    it: then the open versions alone answer, since none can be younger.
    """

    connection: Connection
    profile: Profile
    tenant_id: int
    fleet_id: int
    instant: int
    current: bool
