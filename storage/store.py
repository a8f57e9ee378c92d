"""The front door of storage: opens a database, reads snapshots of it, and writes to it.

Every write takes its fleet's clock: one transaction, one instant, and instants strictly increase
in the order of commits, also when the machine's clock steps back.  Every read names the instant
it was read at, `min(asked, last committed clock)`, so that what was once observed stays so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeout

from retrograph import tracing
from retrograph.rules.errors import (
    BeyondRetention,
    ConfigurationError,
    DatabaseUnavailable,
    NotFound,
)
from retrograph.rules.graph import Graph
from retrograph.rules.instant import format_instant, in_future
from retrograph.rules.tokens import TokenCounter, estimate_tokens
from retrograph.storage.clock import Clock, system_clock
from retrograph.storage.domain_indexes import DEFAULT_BYTES, DomainIndexes
from retrograph.storage.fleets import Times, fleet_ids_of, read_times, tenant_ids_of
from retrograph.storage.graph_cache import FleetKey, GraphCache, WarmGraph
from retrograph.storage.leaders import Lease, take_lead
from retrograph.storage.mariadb.profile import MariadbProfile
from retrograph.storage.mssql.profile import MssqlProfile
from retrograph.storage.profile import Profile
from retrograph.storage.relays import Arrived, Position, Progress, begin, forget, mark, progress_of
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.sqlite.profile import SqliteProfile
from retrograph.storage.tallies import CascadeCost, Tallies
from retrograph.storage.uses import UseLog
from retrograph.storage.write import Write
from retrograph.storage.writer import Job

T = TypeVar("T")
Listener = Callable[[int, int, int], None]

_log = logging.getLogger(__name__)


def open_store(
    database: str,
    *,
    clock: Clock = system_clock,
    migrate: bool = True,
    count_tokens: TokenCounter = estimate_tokens,
    recall_bytes: int = DEFAULT_BYTES,
) -> Store:
    """Opens the database that `database` names: a path, or a URL `sqlite:///path`.

    With `migrate`, a new file is made and an old schema is brought up to date; without, a schema
    that isn't up to date is a `SchemaTooOld`. `count_tokens` is what the budgets of working
    memories go by, `recall_bytes` the memory that indexes of episodes may take.
    """
    profile = _profile(database)
    try:
        done = profile.prepare(migrate=migrate)
    except Exception as error:
        profile.close()
        meaning = profile.translate(error)
        if meaning is None:
            raise
        raise meaning from error
    return Store(profile, clock, done, count_tokens, recall_bytes)


def _profile(database: str) -> Profile:
    scheme, separator, rest = database.partition("://")
    if not separator:
        return SqliteProfile(Path(database))
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SqliteProfile(Path(rest[1:]))
    if scheme == "mariadb+pyodbc":
        return MariadbProfile(database)
    if scheme == "mssql+pyodbc":
        return MssqlProfile(database)
    raise ConfigurationError(
        f"No engine for the database {scheme}://…; give a file's path, sqlite:///path, "
        "mariadb+pyodbc://user:password@host:port/name or mssql+pyodbc://…."
    )


class _Group:
    """The graphs and instants of one transaction's jobs, published when it is durable."""

    def __init__(self, cache: GraphCache, notify: Listener, tallies: Tallies) -> None:
        self.warm: dict[FleetKey, WarmGraph | None] = {}
        self.instants: dict[FleetKey, int] = {}
        self._cache = cache
        self._notify = notify
        self._tallies = tallies
        self._events = 0
        self._cascades: list[CascadeCost] = []

    def warm_graph(self, key: FleetKey, clock: int) -> WarmGraph | None:
        """The fleet's graph at `clock`: of an earlier job of this transaction, or committed."""
        warm = self.warm.get(key)
        return warm if warm is not None and warm.clock == clock else self._cache.get(key, clock)

    def finish(self, writes: dict[int, Write]) -> None:
        """Takes in what a job has written."""
        for write in writes.values():
            key = (write.snapshot.tenant_id, write.snapshot.fleet_id)
            self.warm[key] = write.warm_after()
            self.instants[key] = write.instant
            self._events += write.next_event
            self._cascades += write.cascades

    def publish(self) -> None:
        self._tallies.note(self._events, self._cascades)
        for key, warm in self.warm.items():
            self._cache.put(key, warm)
        for (tenant_id, fleet_id), instant in self.instants.items():
            self._notify(tenant_id, fleet_id, instant)


class Store:
    """An open database; safe to share between threads."""

    def __init__(
        self,
        profile: Profile,
        clock: Clock,
        done: Sequence[str] = (),
        count_tokens: TokenCounter = estimate_tokens,
        recall_bytes: int = DEFAULT_BYTES,
    ) -> None:
        """`done` tells, a line each, what was done to the database when it was opened."""
        self.done = done
        self.count_tokens = count_tokens
        self.indexes = DomainIndexes(recall_bytes)
        self.uses = UseLog()
        self._profile = profile
        self._clock = clock
        self._graphs = GraphCache()
        self._closed = False
        self._listeners: list[Listener] = []
        self.tallies = Tallies()
        self._writer = profile.make_writer(lambda: _Group(self._graphs, self._notify, self.tallies))

    def now(self) -> int:
        """The injected clock (UTC microseconds)."""
        return self._clock()

    @property
    def graph_requests(self) -> Mapping[str, int]:
        """How often a warm graph was asked for and there (`hit`), or not (`miss`)."""
        return self._graphs.requests

    def clock(self, tenant_id: int, fleet_id: int) -> int:
        """The last committed instant of a fleet; raises `NotFound`."""
        with self._reading(tenant_id) as connection:
            return _times_of(self._profile, connection, tenant_id, fleet_id).clock

    def fleet_ids(self, tenant_id: int) -> list[int]:
        """The ids of a tenant's fleets, ascending."""
        with self._reading(tenant_id) as connection:
            return fleet_ids_of(connection, tenant_id)

    def tenant_ids(self) -> list[int]:
        """The ids of all tenants that have a fleet, ascending: for what looks after all of them."""
        with self._reading(0) as connection:
            return tenant_ids_of(connection)

    def lead(self, name: str, holder: str, micros: int) -> bool:
        """Whether `holder` leads a job among all processes, for so long from now on."""
        now = self.now()

        def attempt(connection: Connection, _: _Group) -> bool:
            return take_lead(connection, name, holder, now, now + micros)

        leads: bool = self._write_job(Job(0, (), attempt))
        return leads

    def relay_progress(self, tenant_id: int, name: str) -> list[Progress]:
        """How far a relay has come in each of a tenant's fleets."""
        with self._reading(tenant_id) as connection:
            return progress_of(connection, tenant_id, name)

    def begin_relay(
        self, tenant_id: int, relay: Lease, fleet_ids: Sequence[int], at: Position
    ) -> bool:
        """Notes where a relay begins in fleets that are new to it, if it leads; whether it does."""

        def work(connection: Connection) -> None:
            begin(connection, tenant_id, relay.name, fleet_ids, at)

        return self._write_leading(tenant_id, relay, work)

    def mark_relayed(self, relay: Lease, arrived: Arrived) -> bool:
        """Notes what has arrived, if the relay leads still; whether it does."""
        return self._write_leading(
            arrived.tenant_id, relay, lambda connection: mark(connection, arrived, relay.name)
        )

    def forget_relay(self, tenant_id: int, relay: Lease, fleet_ids: Sequence[int]) -> bool:
        """Forgets how far a relay has come in some fleets, if it leads; whether it does."""

        def work(connection: Connection) -> None:
            forget(connection, tenant_id, relay.name, fleet_ids)

        return self._write_leading(tenant_id, relay, work)

    def _write_leading(
        self, tenant_id: int, relay: Lease, work: Callable[[Connection], None]
    ) -> bool:
        """Takes no instant: nothing of any fleet changes."""
        now = self.now()

        def attempt(connection: Connection, _: _Group) -> bool:
            leads = take_lead(connection, relay.name, relay.holder, now, now + relay.micros)
            if leads:
                work(connection)
            return leads

        leads: bool = self._write_job(Job(tenant_id, (), attempt))
        return leads

    @contextmanager
    def read(self, tenant_id: int, fleet_id: int, at: int | None = None) -> Iterator[Snapshot]:
        """The fleet as of `min(at, last committed clock)`; `at` None is the latter.

        Raises `NotFound` for an unknown fleet, `InstantInFuture` for an instant later than both
        the machine's and the fleet's clock, and `BeyondRetention` for one whose versions the
        engine may have deleted.
        """
        with self._reading(tenant_id) as connection:
            clock, began = _times_of(self._profile, connection, tenant_id, fleet_id)
            if at is not None:
                self._check_instant(at, clock, began)
            instant = clock if at is None else min(at, clock)
            yield Snapshot(connection, self._profile, tenant_id, fleet_id, instant, clock, began)

    def write(self, tenant_id: int, fleet_id: int, job: Callable[[Write], T]) -> T:
        """Runs `job` in a transaction of its own instant; its result comes after the commit.

        Raises `NotFound` for an unknown fleet, what `job` raises (nothing is then written), or a
        `StorageError`.
        """
        return self._run(tenant_id, [fleet_id], lambda writes: job(writes[fleet_id]), create=False)

    def write_all(
        self, tenant_id: int, fleet_ids: Sequence[int], job: Callable[[dict[int, Write]], T]
    ) -> T:
        """Like `write` for several fleets with one instant; unknown fleets are made."""
        return self._run(tenant_id, sorted(set(fleet_ids)), job, create=True)

    def graph(self, snapshot: Snapshot) -> Graph:
        """The whole graph at a snapshot: a warm one where it is true at that instant."""
        key = (snapshot.tenant_id, snapshot.fleet_id)
        warm = self._graphs.get(key, snapshot.instant)
        if warm is not None:
            return warm.graph()
        graph = self._profile.load_graph(snapshot)
        if snapshot.current:
            self._graphs.put(key, WarmGraph(snapshot.instant, graph))
        return graph

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener(tenant_id, fleet_id, instant)` after each commit of this process.

        It runs in the writer's thread and must be quick.  Returns what ends the listening.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def poll(self) -> bool:
        """Whether any process may have committed since the last poll; cheap."""
        self._check_open()
        try:
            return self._profile.changed_outside()
        except Exception as error:
            self._raise_meaning(error)
            raise

    def close(self) -> None:
        """Finishes queued writes and gives back every connection."""
        self._closed = True
        self._writer.close()
        self._profile.close()

    def _check_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The store is closed; open it again.")

    @contextmanager
    def _reading(self, tenant_id: int) -> Iterator[Connection]:
        self._check_open()
        try:
            with tracing.part("read"), self._profile.reading(tenant_id) as connection:
                yield connection
        except Exception as error:
            self._raise_meaning(error)
            raise

    def _run(
        self,
        tenant_id: int,
        fleet_ids: Sequence[int],
        job: Callable[[dict[int, Write]], T],
        *,
        create: bool,
    ) -> T:
        def attempt(connection: Connection, group: _Group) -> T:
            writes = self._begin(connection, group, tenant_id, fleet_ids, create=create)
            answer = job(writes)
            group.finish(writes)
            return answer

        answer: T = self._write_job(Job(tenant_id, fleet_ids, attempt))
        return answer

    def _write_job(self, job: Job) -> Any:
        try:
            with tracing.part("write"):
                if tracing.is_on():  # a job may be done in another's thread
                    job = replace(job, attempt=tracing.carried(job.attempt))
                return self._writer.run(job)
        except Exception as error:
            self._raise_meaning(error)
            raise

    def _begin(
        self,
        connection: Connection,
        group: _Group,
        tenant_id: int,
        fleet_ids: Sequence[int],
        *,
        create: bool,
    ) -> dict[int, Write]:
        instant, times = self._profile.take_clocks(
            connection, tenant_id, fleet_ids, self.now(), create=create
        )
        return {
            fleet_id: Write(
                Snapshot(
                    connection,
                    self._profile,
                    tenant_id,
                    fleet_id,
                    instant,
                    clock=instant,
                    began=times[fleet_id].began,
                ),
                group.warm_graph((tenant_id, fleet_id), times[fleet_id].clock),
            )
            for fleet_id in fleet_ids
        }

    def _check_instant(self, at: int, clock: int, began: int) -> None:
        now, kept = self.now(), self._profile.history_kept
        if at > clock and at > now:
            raise in_future(now, field=("asOf",))
        # Before its history there was nothing, and since its last write nothing has ended.
        if kept is not None and began <= at < min(clock, now - kept):
            raise BeyondRetention(
                "What was so long ago may be deleted; give an instant from "
                f"{format_instant(now - kept)} on.",
                path=("asOf",),
            )

    def _notify(self, tenant_id: int, fleet_id: int, instant: int) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(tenant_id, fleet_id, instant)
            except Exception:  # noqa: BLE001 (a commit stands, whatever its listeners do)
                _log.exception("a listener failed; the others are still told")

    def _raise_meaning(self, error: Exception) -> None:
        if isinstance(error, PoolTimeout):
            raise DatabaseUnavailable(
                "Every connection was busy for too long; ask less at once, or try again."
            ) from error
        meaning = self._profile.translate(error)
        if meaning is not None:
            raise meaning from error


def _times_of(profile: Profile, connection: Connection, tenant_id: int, fleet_id: int) -> Times:
    times = read_times(profile, connection, tenant_id, [fleet_id])
    if fleet_id not in times:
        raise NotFound.fleet(fleet_id)
    return times[fleet_id]
