"""The feeds of a process: one for each question that subscribers ask, while anybody asks it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from graphql import GraphQLResolveInfo, Node, VariableNode, Visitor, visit
from strawberry.types import ExecutionResult

from retrograph.resolvers.scope import Role
from retrograph.schema.answers import answer_of
from retrograph.schema.batch import Batch
from retrograph.schema.bell import Bell, Waiter
from retrograph.schema.failures import is_request_error
from retrograph.schema.feed import Feed, Following, Position
from retrograph.schema.open_streams import OpenStreams
from retrograph.schema.wire import write_json

if TYPE_CHECKING:
    from strawberry.schema.schema import StreamResult

    from retrograph.schema.context import Asked, Caller

    Subscribe = Callable[..., Coroutine[Any, Any, StreamResult]]

ALL_LOGS_BYTES = 64 * 1024 * 1024
"""What the logs of all feeds together keep at most."""
ONE_LOG_BYTES = 4 * 1024 * 1024
"""What the log of one feed keeps at most."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a subscriber wants to be told, wherever it begins: who asks alike is told alike."""

    tenant_id: int
    fleet_id: int
    query: str
    operation_name: str | None
    variables: str
    asked: Asked = field(compare=False)

    @classmethod
    def of(
        cls, tenant_id: int, fleet_id: int, asked: Asked, info: GraphQLResolveInfo[Any]
    ) -> Question:
        """The question of an operation; a variable that says only where to begin is no part."""
        begin = _beginning(info)
        told = {name: value for name, value in asked.variables.items() if name != begin}
        variables = json.dumps(told, sort_keys=True)
        return cls(tenant_id, fleet_id, asked.query, asked.operation_name, variables, asked)


class Seat:
    """A subscriber's claim on the feed of its question, which ends when nobody has one."""

    def __init__(self, feeds: Feeds, question: Question, caller: Caller) -> None:
        self._feeds = feeds
        self._question = question
        self._caller = caller

    def follow(
        self, position: Position, ear: Waiter, cursor_of: Callable[[Position], str]
    ) -> Following | None:
        """The way on from a position; None where no feed covers it.  Raises what made it fail."""
        feed = self._feeds.find(self._question)
        if feed is None or not feed.covers(position):
            return None
        if feed.failure is not None:
            raise feed.failure
        is_expired = self._caller.is_expired
        return None if feed.over else Following(feed, position, ear, is_expired, cursor_of)

    def open(self, position: Position) -> None:
        """Begins a feed behind a position, unless there is one."""
        self._feeds.begin(self._question, self._caller, position)


class Feeds:
    """All feeds of a process, by their questions.

    `subscribe` executes a subscription. A subscriber that has followed and fell behind may read
    the database for `patience` seconds to catch up. To be used in the event loop.
    """

    def __init__(self, subscribe: Subscribe, bell: Bell, patience: float) -> None:
        self.patience = patience
        self.told = 0
        self._subscribe = subscribe
        self._bell = bell
        self._seats: Counter[Question] = Counter()
        self._feeds: dict[Question, tuple[Feed, asyncio.Task[None]]] = {}

    @property
    def followers(self) -> int:
        """How many subscribers follow a feed at the moment."""
        return sum(feed.followers for feed, _ in self._feeds.values())

    def __len__(self) -> int:
        """How many feeds there are."""
        return len(self._feeds)

    @asynccontextmanager
    async def seat(self, question: Question, caller: Caller) -> AsyncIterator[Seat]:
        """A claim while the context lasts; the last one of a question ends its feed."""
        self._seats[question] += 1
        try:
            yield Seat(self, question, caller)
        finally:
            self._seats[question] -= 1
            if not self._seats[question]:
                del self._seats[question]
                await self._end(question)

    def find(self, question: Question) -> Feed | None:
        """The feed of a question."""
        found = self._feeds.get(question)
        return None if found is None else found[0]

    def begin(self, question: Question, caller: Caller, start: Position) -> None:
        """Begins the feed of a question behind a position, unless it runs."""
        known = self.find(question)
        if known is None or known.over:
            feed = Feed(start, self._room)
            fleets = frozenset({question.fleet_id})
            scope = replace(caller.scope, fleet_ids=fleets, roles=frozenset(Role))
            house = replace(
                caller,
                scope=scope,
                expires_at=None,
                streams=OpenStreams(),
                feeds=None,
                reading=feed.reading,
            )
            task = asyncio.create_task(self._fill(feed, question, house))
            self._feeds[question] = feed, task

    async def _fill(self, feed: Feed, question: Question, house: Caller) -> None:
        """Tells the responses to the question's events, each worked out once."""
        failure: Exception | None = None
        try:
            failure = await self._tell(feed, question, house)
        except Exception as error:  # noqa: BLE001 (whoever follows raises it)
            failure = error
        finally:
            feed.end(failure)

    async def _tell(self, feed: Feed, question: Question, house: Caller) -> Exception | None:
        asked = question.asked
        results = await self._subscribe(
            asked.query,
            variable_values=dict(asked.variables),
            context_value=house,
            operation_name=asked.operation_name,
        )
        async with aclosing(results):
            async for result in results:
                assert isinstance(result, ExecutionResult)  # noqa: S101 (nothing is deferred)
                if is_request_error(result):
                    return next(iter(result.errors or ()))
                batch: object = result.data
                if isinstance(batch, Batch):
                    await self._tell_all(feed, batch)
                else:
                    await self._tell_one(feed, write_json(answer_of(result)))
        return None

    async def _tell_all(self, feed: Feed, batch: Batch[Any]) -> None:
        for position, payload in batch.answers():
            feed.reading.position = position
            await self._tell_one(feed, payload)

    async def _tell_one(self, feed: Feed, payload: bytes) -> None:
        self.told += 1
        if feed.tell(payload):
            await asyncio.sleep(0)

    async def _end(self, question: Question) -> None:
        found = self._feeds.pop(question, None)
        if found is not None:
            self._bell.end(found[1])
            await found[1]

    def _room(self) -> int:
        return min(ONE_LOG_BYTES, ALL_LOGS_BYTES // max(1, len(self._feeds)))


def _beginning(info: GraphQLResolveInfo[Any]) -> str | None:
    """The variable of the argument `after`, if it is used for nothing else."""
    given = (each for each in info.field_nodes[0].arguments or () if each.name.value == "after")
    value = next((each.value for each in given), None)
    if not isinstance(value, VariableNode):
        return None
    name = value.name.value
    uses = _Uses.of((info.operation, *info.fragments.values()))
    return name if uses[name] == 2 else None  # where it is declared, and here


class _Uses(Visitor):
    """Counts where variables stand in a document."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Counter[str]:
        """How often each variable stands in some nodes."""
        counting = cls()
        for node in nodes:
            visit(node, counting)
        return counting.names

    def enter_variable(self, node: VariableNode, *_: Any) -> None:
        """Counts one."""
        self.names[node.name.value] += 1
