"""The saver: LangGraph's checkpoints as checkpoints of executions.

A thread's namespace is an execution, and its checkpoints are a chain in the order they were put; a
fork is a new head whose `parent` is an earlier checkpoint.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from retrograph.client import Client
from retrograph.langgraph.embedded import EmbeddedExecutions
from retrograph.langgraph.executions import CheckpointIdTaken, Executions, HeadMoved, New
from retrograph.langgraph.forgetting import forget
from retrograph.langgraph.place import ALL, Place, checkpoint_id_of, prefix_of
from retrograph.langgraph.retention import needed
from retrograph.langgraph.served import ServedExecutions
from retrograph.langgraph.state import State, payload_of
from retrograph.langgraph.threads import copied, states
from retrograph.langgraph.writes import entry_of, pending_writes
from retrograph.langgraph.writes import prefix_of as writes_of
from retrograph.storage.store import Store

_REMEMBERED = 10_000
"""Heads that are remembered, so that a commit needs no look before."""


class RetrographSaver(BaseCheckpointSaver[int]):
    """Keeps the threads of a graph in a fleet; safe to share between threads and event loops.

    The asynchronous methods run the others in threads.  Failures are those of the client or of
    `retrograph.rules.errors`, and `CheckpointIdTaken`.
    """

    def __init__(self, executions: Executions, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._executions = executions
        self._heads: dict[str, int] = {}

    @classmethod
    def served(cls, client: Client, fleet: int, *, serde: SerializerProtocol | None = None) -> Self:
        """Over the API; the client stays yours.  Takes the role `CONTROLLER`, to remove `ADMIN`."""
        return cls(ServedExecutions(client, fleet), serde=serde)

    @classmethod
    def embedded(
        cls,
        store: Store,
        fleet: int = 1,
        *,
        tenant: int = 1,
        serde: SerializerProtocol | None = None,
    ) -> Self:
        """In the database of an open store, which stays yours; the fleet is made where missing."""
        return cls(EmbeddedExecutions(store, fleet, tenant), serde=serde)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 (all channels are stored)
    ) -> RunnableConfig:
        """Commits a checkpoint; once it returns, it is on the disk."""
        place, told = Place.of(config), get_checkpoint_metadata(config, metadata)
        new = New(
            place.execution,
            place.thread,
            f"{told.get('source', 'put')} {told.get('step', '')}".rstrip(),
            checkpoint["id"],
            payload_of(self.serde, checkpoint, told, checkpoint_id_of(config)),
        )
        self._commit(new)
        return place.config(checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Enters the writes of a task behind a checkpoint, which may still be on its way."""
        behind = checkpoint_id_of(config)
        if behind is None:
            raise ValueError("Give the checkpoint_id that the writes are pending behind.")
        if writes:
            entry = entry_of(self.serde, behind, writes, task_id, task_path)
            self._executions.enter(Place.of(config).execution, entry)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, else the thread's last one."""
        place, wanted = Place.of(config), checkpoint_id_of(config)
        if wanted is None:
            found = self._executions.head(place.execution)
        else:
            found = self._executions.committed(place.execution, wanted)
        return None if found is None else self._tuple(place, State.of(found.payload, self.serde))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first in each namespace: of one, of a thread, or of all threads."""
        return islice(self._list(config, filter or {}, checkpoint_id_of(before)), limit)

    def delete_thread(self, thread_id: str) -> None:
        """Purges all executions of a thread."""
        for name in [*self._executions.names(prefix_of(str(thread_id)))]:
            self._executions.purge(name)
            self._heads.pop(name, None)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Commits all of a thread to another one; what was copied already is left as it is."""
        for name in [*self._executions.names(prefix_of(source_thread_id))]:
            target = Place(target_thread_id, Place.named(name).namespace)
            for new in copied(self._executions, name, target):
                self._commit(new)
            for entry in self._executions.entries(name, ""):
                self._executions.enter(target.execution, entry)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes all but what the last checkpoint of each namespace needs, or whole threads."""
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError(f"No strategy {strategy!r}; take 'keep_latest' or 'delete'.")
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            for name in [*self._executions.names(prefix_of(thread))]:
                count = needed(self._executions, name, self.serde)
                if count:
                    self._executions.retain(name, count)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erases the checkpoints that these runs have put, and their writes, in all threads.

        A namespace that holds nothing else is purged.
        """
        wanted = frozenset(run_ids)
        for name in [*self._executions.names(ALL)] if wanted else ():
            self._heads.pop(name, None)
            forget(self._executions, name, self.serde, wanted)

    def _commit(self, new: New) -> None:
        """Commits a state, and remembers the head that it has become."""
        made = self._behind_any_head(new)
        if len(self._heads) >= _REMEMBERED:
            self._heads.clear()
        self._heads[new.execution] = made

    def _behind_any_head(self, new: New) -> int:
        """Commits behind whatever the head is: who puts doesn't care what others have put."""
        expected = self._heads.get(new.execution, 0)
        while True:
            try:
                return self._executions.commit(new, expected)
            except HeadMoved as moved:
                expected = moved.head
            except CheckpointIdTaken:
                known = self._executions.committed(new.execution, new.token)
                if known is None or known.payload != new.payload:
                    raise
                return known.sequence

    def _list(
        self, config: RunnableConfig | None, filter: dict[str, Any], before: str | None
    ) -> Iterator[CheckpointTuple]:
        for place, found in self._candidates(config, before):
            if before is not None and found.id >= before:
                continue
            metadata: dict[str, Any] = {**found.metadata} if filter else {}
            if all(metadata.get(key) == value for key, value in filter.items()):
                yield self._tuple(place, found)

    def _candidates(
        self, config: RunnableConfig | None, before: str | None
    ) -> Iterator[tuple[Place, State]]:
        wanted = checkpoint_id_of(config)
        for name in self._named(config):
            place = Place.named(name)
            if wanted is not None:
                found = self._executions.committed(name, wanted)
                known = [] if found is None else [State.of(found.payload, self.serde)]
                yield from ((place, each) for each in known)
                continue
            for each in states(self._executions, name, self.serde, before):
                yield place, each

    def _named(self, config: RunnableConfig | None) -> Iterator[str]:
        """The names of the executions that a config asks for."""
        asked: dict[str, Any] = {} if config is None else config.get("configurable", {})
        if "thread_id" not in asked:
            yield from self._executions.names(ALL)
        elif asked.get("checkpoint_ns") is None:
            yield from self._executions.names(prefix_of(str(asked["thread_id"])))
        else:
            yield Place(str(asked["thread_id"]), str(asked["checkpoint_ns"])).execution

    def _tuple(self, place: Place, state: State) -> CheckpointTuple:
        entries = self._executions.entries(place.execution, writes_of(state.id))
        return CheckpointTuple(
            place.config(state.id),
            state.checkpoint,
            state.metadata,
            None if state.parent is None else place.config(state.parent),
            pending_writes(self.serde, entries),
        )

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)
