"""What one operation knows: who asks, at which instants it reads, and what it has loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeVar

import strawberry

from retrograph.resolvers.scope import Scope
from retrograph.rules.cursor import Keyset
from retrograph.rules.errors import OperationTimedOut, Unauthenticated
from retrograph.schema.bell import Bell
from retrograph.schema.feed import Reading
from retrograph.schema.feeds import Feeds
from retrograph.schema.instants import Instants
from retrograph.schema.loaders import Loaders
from retrograph.schema.open_streams import OpenStreams
from retrograph.schema.protection import DEFAULT_PROTECTION, Protection
from retrograph.storage.clock import Clock, system_clock

EXPIRED = "The token has expired; connect again with a new one."

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks through a transport, and what serves them: the threads, and the bell of news.

    A WebSocket's operations share one. From `expires_at` on, by `clock`, the caller's proof counts
    no more; None: it always does. `protection` limits what each operation may ask. `subject` is who
    a token was issued to, `streams` counts what callers have open. Subscriptions share
    `feeds`; without, each works out its own. `reading` is where those of a feed itself stand.
    """

    scope: Scope
    workers: Executor
    bell: Bell
    expires_at: int | None = None
    clock: Clock = system_clock
    protection: Protection = DEFAULT_PROTECTION
    subject: str | None = None
    streams: OpenStreams = field(default_factory=OpenStreams)
    feeds: Feeds | None = None
    reading: Reading | None = None

    def opens(self, kind: str) -> AbstractContextManager[None]:
        """Counts one more subscription or socket of the caller's; raises `TooManyStreams`."""
        return self.streams.one_more(kind, (self.scope.tenant_id, self.subject))

    def is_expired(self) -> bool:
        """Whether the caller's proof counts no more."""
        return self.expires_at is not None and self.expires_at <= self.clock()

    def check_proof(self) -> None:
        """Raises `Unauthenticated` when the caller's proof counts no more."""
        if self.is_expired():
            raise Unauthenticated(EXPIRED)


@dataclass(frozen=True, slots=True)
class Asked:
    """An operation as it was sent, but with the text of a document that was named by its hash."""

    query: str
    operation_name: str | None
    variables: Mapping[str, Any]


class Context:
    """One operation: fields share its instants and its loaders.

    `acting_on` is the fleet of the mutation that is running; mutations run one after another.
    `validated` tells that the document was found valid, `cost` what it costs, `asked` what it is.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.acting_on: int | None = None
        self.validated = False
        self.cost: int | None = None
        self.asked: Asked | None = None
        self._began = monotonic()
        self.instants = Instants(self._clock)
        self.loaders = Loaders(self.call)

    async def call(
        self, use_case: Callable[Concatenate[Scope, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs a use case for the caller in a worker's thread: one hop, since storage blocks."""
        work = partial(copy_context().run, use_case, self.caller.scope, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.caller.workers, work)

    async def act(
        self,
        fleet_id: int,
        use_case: Callable[Concatenate[Scope, int, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Runs a writing use case, if there is time; failures know the fleet it acted on."""
        self.check_time()
        self.acting_on = fleet_id
        return await self.call(use_case, fleet_id, *args, **kwargs)

    def check_time(self) -> None:
        """Raises `OperationTimedOut` when the operation has had its time."""
        if monotonic() - self._began > self.caller.protection.seconds:
            raise OperationTimedOut(
                "Nothing of this was done: what stands before it in the operation took all its "
                "time. Ask for it in an operation of its own."
            )

    async def at(self, fleet_id: int, as_of: int | None = None, after: Keyset | None = None) -> int:
        """The instant to read a fleet at: the one asked for, or the operation's."""
        if as_of is not None:
            return as_of
        return await self.instants.at(fleet_id, None if after is None else after.at)

    async def _clock(self, fleet_id: int) -> int:
        return await self.call(Scope.clock, fleet_id)

    def extensions(self) -> dict[str, Any]:
        """What the operation costs, and the instants it was read at, as its answer gives them."""
        told: dict[str, Any] = {}
        if self.cost is not None:
            told["cost"] = {"requested": self.cost, "limit": self.caller.protection.max_cost}
        shown = self.instants.shown()
        return told | {"asOf": shown} if shown else told

    def forget(self) -> None:
        """Begins anew: a subscription's events are each read at an instant of their own."""
        self.loaders = Loaders(self.call)


Info = strawberry.Info[Context, None]
