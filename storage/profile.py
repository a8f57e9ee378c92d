"""What an engine is: how to connect, how to begin a write, what its errors mean, its time travel.

One implementation per engine; nothing else in the project asks which engine it talks to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, Engine, Executable

    from retrograph.rules.cascade import Seeds
    from retrograph.rules.errors import StorageError
    from retrograph.rules.graph import Graph
    from retrograph.storage.as_of import Arm, Instant
    from retrograph.storage.fleets import Times
    from retrograph.storage.snapshot import Snapshot
    from retrograph.storage.tables import Versioned
    from retrograph.storage.verdicts import Verdict
    from retrograph.storage.write import Write
    from retrograph.storage.writer import Group, Writer


class Profile(Protocol):
    """An engine's ways, as the rest of storage needs them."""

    name: str
    rows_per_insert: int
    """How many rows one INSERT … VALUES statement may carry."""
    fills_periods: bool
    """Whether the engine versions rows and fills their period columns by itself."""
    history_kept: int | None
    """Microseconds for which versions are kept at least when they have ended; None: for ever."""

    def reading(self, tenant_id: int) -> AbstractContextManager[Connection]:
        """A transaction that sees one committed state, for reading a tenant's rows."""

    def writer(self) -> Engine:
        """Connections for writing: a transaction excludes other writers from its first word on."""

    def fetch(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> Sequence[tuple[Any, ...]]:
        """The rows of a statement that is kept and sent again, with these values."""

    def send(
        self, connection: Connection, statement: Executable, values: Mapping[str, object]
    ) -> None:
        """Executes such a statement, of one row, that gives none back."""

    def make_writer(self, make_group: Callable[[], Group]) -> Writer:
        """What runs write transactions; `make_group` makes what the jobs of one share."""

    def take_clocks(
        self,
        connection: Connection,
        tenant_id: int,
        fleet_ids: Sequence[int],
        now: int,
        *,
        create: bool,
    ) -> tuple[int, dict[int, Times]]:
        """See `retrograph.storage.fleets.take_clocks`.

        The versions that this transaction opens and closes carry its instant from then on.
        """

    def take_ids(self, connection: Connection, name: str, count: int) -> int:
        """Draws `count` ids of a sequence; returns the first. They may be lost, never doubled."""

    def cascade(self, write: Write, seeds: Seeds, limit: int) -> Verdict:
        """What falls with `seeds`, in the fleet as the write has made it so far.

        Raises `RunTooLarge` over `limit` impacts.
        """

    def prepare(self, *, migrate: bool) -> list[str]:
        """Brings the schema up to date, or checks that it is; raises a `StorageError`.

        Returns what was done, a line each.
        """

    def arms(self, versioned: Versioned, instant: Instant, *, current: bool) -> list[Arm]:
        """The arms of a read by any column: a range of the history is filtered by both bounds."""

    def keyed_arms(
        self, versioned: Versioned, instant: Instant, key: ColumnElement[int], *, current: bool
    ) -> list[Arm]:
        """The arms of a read by id, where `key` is the id column of a table that drives the join.

        A row may have any number of versions after the instant, so the history is entered by one
        seek: the version that closes first after the instant.
        """

    def load_graph(self, snapshot: Snapshot) -> Graph:
        """The whole graph of a fleet at a snapshot's instant."""

    def keep_history(self, snapshot: Snapshot, versioned: Versioned, ids: list[int]) -> None:
        """Closes the open versions of `ids` where the engine does not do so by itself."""

    def translate(self, error: Exception) -> StorageError | None:
        """The typed error that a driver's error means, if it is one that a caller can act on."""

    def is_passing(self, error: Exception) -> bool:
        """Whether the engine gave a transaction up for another's sake, so that a new try helps."""

    def changed_outside(self) -> bool:
        """Whether a commit may have come since this was last asked, from any process."""

    def in_transaction(self, connection: Connection) -> bool:
        """Whether the driver's transaction is still open (some errors end it)."""

    def tidy(self) -> None:
        """Housekeeping that is due after commits, off their path."""

    def close(self) -> None:
        """Gives back every connection."""
