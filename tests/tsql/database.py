"""A database of the stand-in: a SQLite file, and what SQL Server keeps outside of transactions."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock

from tests.tsql.errors import ServerError

TIMED_OUT = -1
GRANTED = 0
GRANTED_LATER = 1


@dataclass
class ServerClock:
    """The server's time (microseconds since 1970), which no caller can choose.

    It follows `base`, and runs ahead of it by what was waited for: nobody really waits.
    Transactions begin at multiples of `step`; each text that is sent takes `tick`.
    """

    base: Callable[[], int]
    step: int = 1
    tick: int = 0
    _ahead: int = field(default=0, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def now(self) -> int:
        """The time."""
        return self.base() + self._ahead

    def stamp(self) -> int:
        """The instant of a transaction that begins now."""
        return self.now() // self.step * self.step

    def wait(self, micros: int) -> None:
        """Lets so much time pass."""
        with self._lock:
            self._ahead += micros


@dataclass
class SteadyClock(ServerClock):
    """Does not step back, and what waits waits for one microsecond.

    So a fleet's instants are those of an engine that chooses them: the later of `base` and of the
    first microsecond after its clock.  Each new `story` begins at `base`.
    """

    story: Callable[[], int] = lambda: 0
    _told: int = field(default=0, init=False)

    def now(self) -> int:
        """The time."""
        with self._lock:
            story, base = self.story(), self.base()
            self._ahead = max(self._ahead, base) if story == self._told else base
            self._told = story
            return self._ahead

    def wait(self, micros: int) -> None:
        """Lets a microsecond pass, if any time is to."""
        now = self.now()
        with self._lock:
            self._ahead = max(self._ahead, now + min(micros, 1))


class AppLocks:
    """The locks of sp_getapplock that sessions own, each by its resource."""

    def __init__(self) -> None:
        self._free = Condition()
        self._held: dict[str, tuple[object, int]] = {}
        self._waiting: defaultdict[str, list[object]] = defaultdict(list)

    def take(self, resource: str, owner: object, timeout_ms: int) -> int:
        """What sp_getapplock returns; a session may take a lock several times.

        Who came first is served first.
        """
        with self._free:
            holder, count = self._held.get(resource, (owner, 0))
            if holder is owner and (count or not self._waiting[resource]):
                self._held[resource] = owner, count + 1
                return GRANTED
            queue = self._waiting[resource]
            queue.append(owner)
            limit = None if timeout_ms < 0 else timeout_ms / 1_000
            try:
                if not self._free.wait_for(lambda: self._is_next(resource, owner), limit):
                    return TIMED_OUT
                self._held[resource] = owner, 1
                return GRANTED_LATER
            finally:
                queue.remove(owner)
                self._free.notify_all()

    def release(self, resource: str, owner: object) -> None:
        """Gives a lock back, once; raises 1223 where the session does not hold it."""
        with self._free:
            holder, count = self._held.get(resource, (None, 0))
            if holder is not owner:
                raise ServerError(1223, f"Cannot release the application lock ({resource}).")
            if count > 1:
                self._held[resource] = owner, count - 1
            else:
                del self._held[resource]
            self._free.notify_all()

    def release_all(self, owner: object) -> None:
        """Gives back what a session that ends holds."""
        with self._free:
            self._held = {key: held for key, held in self._held.items() if held[0] is not owner}
            self._free.notify_all()

    def held(self) -> list[str]:
        """The resources that are held."""
        with self._free:
            return sorted(self._held)

    def _is_next(self, resource: str, owner: object) -> bool:
        return resource not in self._held and self._waiting[resource][0] is owner


class Database:
    """One database; sessions share it."""

    def __init__(self, name: str, file: Path, clock: ServerClock) -> None:
        self.name = name
        self.file = file
        self.clock = clock
        self.locks = AppLocks()
        self.options: dict[str, bool] = {}
        self.generation = 0
        """Rises whenever the schema or an option may have changed."""
        self._sequences: dict[str, int] = {}
        self._last_token = 2000
        self._open_tokens: dict[object, int] = {}
        self._lock = Lock()
        connection = self.connect()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE sys_batches (text TEXT NOT NULL) STRICT")
        connection.close()

    def copy(self, name: str, file: Path, clock: ServerClock) -> Database:
        """The same in a file of its own, while no session has anything open here."""
        made = Database(name, file, clock)
        with closing(self.connect()) as source, closing(made.connect()) as target:
            source.backup(target)
        made.options, made.generation = dict(self.options), self.generation
        made._sequences, made._last_token = dict(self._sequences), self._last_token
        return made

    def connect(self) -> sqlite3.Connection:
        """A connection to the file; the session that owns it is used by one thread at a time."""
        connection = sqlite3.connect(
            self.file, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def draw(self, sequence: str, count: int) -> int:
        """The first of so many numbers of a sequence: no transaction gives them back."""
        with self._lock:
            first = self._sequences.get(sequence, 1)
            self._sequences[sequence] = first + count
            return first

    def token(self, owner: object) -> bytes:
        """The next ROWVERSION; `owner` has it open until `settle`."""
        with self._lock:
            self._last_token += 1
            self._open_tokens.setdefault(owner, self._last_token)
            return self._last_token.to_bytes(8, "big")

    def settle(self, owner: object) -> None:
        """A session's transaction has ended."""
        with self._lock:
            self._open_tokens.pop(owner, None)

    def last_token(self) -> bytes:
        """@@DBTS: the last ROWVERSION that was given."""
        return self._last_token.to_bytes(8, "big")

    def least_active(self) -> bytes:
        """The least ROWVERSION of an open transaction, or the next one."""
        with self._lock:
            least = min(self._open_tokens.values(), default=self._last_token + 1)
            return least.to_bytes(8, "big")
