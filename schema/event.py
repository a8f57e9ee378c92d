"""Events of the outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
import strawberry

from retrograph.rules.cursor import encode_event_cursor
from retrograph.schema import checkpoint, node, run, task
from retrograph.schema.connection import Connection, connect
from retrograph.schema.context import Context, Info
from retrograph.schema.enums import EventType
from retrograph.schema.links import CheckpointLink, NodeLink, RunLink, TaskLink
from retrograph.schema.loaders import GroupLoader
from retrograph.schema.scalars import JSON, DateTime
from retrograph.schema.together import together
from retrograph.storage.records import EventRecord, Page

Name = TypeVar("Name", bound=Hashable)
Found = TypeVar("Found")


def _together(
    loader: str,
    wanted: Callable[[EventRecord], Name | None],
    show: Callable[[Any], object],
) -> Mapping[object, Any]:
    """How what events are about is fetched for a page of them: by one call of a loader."""

    async def fetch(context: Context, events: Sequence[Event]) -> Sequence[object]:
        records = [event.record for event in events]
        places = [(wanted(record), record.at) for record in records]
        known = {each for each in places if each[0] is not None}
        found: Mapping[Any, Any] = {}
        if known:
            loaded: GroupLoader[Any, Any] = getattr(context.loaders, loader)
            found = await loaded.find_all(known, records[0].fleet_id)
        return [show(found[each]) if each in found else None for each in places]

    return together(fetch)


def _node_id(record: EventRecord) -> int | None:
    return record.node_id


def _run_id(record: EventRecord) -> int | None:
    return record.run_id


def _task_id(record: EventRecord) -> int | None:
    """The task that the detail of an event names."""
    told = _told(record)
    return int(told["taskId"]) if "taskId" in told else None


def _checkpoint_named(record: EventRecord) -> tuple[str, int] | None:
    """The execution and the sequence of the checkpoint that the detail of an event names."""
    if record.type is not EventType.CHECKPOINT_COMMITTED:
        return None
    told = _told(record)
    return told["executionId"], int(told["sequence"])


@strawberry.type(
    description="Something that happened, in commit order; what it leads to is read as of `at`."
)
class Event:
    record: strawberry.Private[EventRecord]
    ahead: strawberry.Private[Sequence[EventRecord]]
    cursor: str = strawberry.field(description="To go on behind this event, as `after`.")
    type: EventType = strawberry.field(description="What happened.")
    at: DateTime = strawberry.field(description="The instant of the write that told of it.")
    fleet_id: strawberry.ID = strawberry.field(description="The fleet it happened in.")
    detail: JSON | None = strawberry.field(
        description=(
            "More of it. For NODE_STALE and PINNED_NODE_REVIEW: `from`, `to` and `depth` of the "
            "impact. For events of tasks: `taskId`, and after an error how many have failed, "
            "`attempt`. For CHECKPOINT_COMMITTED: `executionId`, `sequence`, `stateNode`, `hash`. "
            "For EPISODES_RETIRED: `episodeIds`, at most 1,000 an event, `by` and `note`; for "
            "EPISODES_MERGED: `episodeIds` and `axiomId`."
        )
    )

    @strawberry.field(
        description="The node it is about, as of `at`.",
        metadata=_together("nodes_then", _node_id, node.MemoryNode.of),
    )
    async def node(self, info: Info) -> NodeLink | None:
        ahead = {each.node_id for each in self.ahead}
        found = await _find(
            info.context.loaders.nodes_then, self.record, self.record.node_id, ahead
        )
        return None if found is None else node.MemoryNode.of(found)

    @strawberry.field(
        description="The run that it is part of, as of `at`.",
        metadata=_together("runs_then", _run_id, run.InvalidationRun.of),
    )
    async def run(self, info: Info) -> RunLink | None:
        ahead = {each.run_id for each in self.ahead}
        found = await _find(info.context.loaders.runs_then, self.record, self.record.run_id, ahead)
        return None if found is None else run.InvalidationRun.of(found)

    @strawberry.field(
        description="The task that it is about, as of `at`.",
        metadata=_together("tasks_then", _task_id, task.RevalidationTask.of),
    )
    async def task(self, info: Info) -> TaskLink | None:
        ahead = {_task_id(each) for each in self.ahead}
        found = await _find(
            info.context.loaders.tasks_then, self.record, _task_id(self.record), ahead
        )
        return None if found is None else task.RevalidationTask.of(found)

    @strawberry.field(
        description=(
            "The checkpoint as it was committed; null once retention or a purge has removed it."
        ),
        metadata=_together("checkpoints_then", _checkpoint_named, checkpoint.Checkpoint.of),
    )
    async def checkpoint(self, info: Info) -> CheckpointLink | None:
        ahead = {_checkpoint_named(each) for each in self.ahead}
        found = await _find(
            info.context.loaders.checkpoints_then,
            self.record,
            _checkpoint_named(self.record),
            ahead,
        )
        return None if found is None else checkpoint.Checkpoint.of(found)

    @classmethod
    def of(cls, record: EventRecord, ahead: Sequence[EventRecord] = ()) -> Event:
        """The event that a record tells of; `ahead` are others to fetch for at the same time."""
        return cls(
            record=record,
            ahead=ahead,
            cursor=encode_event_cursor(record.at, record.ordinal),
            type=record.type,
            at=DateTime(record.at),
            fleet_id=strawberry.ID(str(record.fleet_id)),
            detail=None if record.detail is None else JSON(record.detail),
        )


def events_ahead(rows: Sequence[EventRecord]) -> list[Event]:
    """The events of rows that are resolved one after another.

    The first of an instant fetches for all others of that instant too.
    """
    together: dict[int, list[EventRecord]] = {}
    for row in rows:
        together.setdefault(row.at, []).append(row)
    return [
        Event.of(row, ahead) if row is ahead[0] else Event.of(row)
        for row in rows
        for ahead in (together[row.at],)
    ]


def event_connection(page: Page[EventRecord], after: str | None) -> Connection[Event]:
    """A page of the outbox."""
    return connect(
        page,
        [Event.of(row) for row in page.rows],
        lambda row: encode_event_cursor(row.at, row.ordinal),
        has_previous=after is not None,
    )


def _told(record: EventRecord) -> dict[str, Any]:
    return {} if record.detail is None else orjson.loads(record.detail)


async def _find(
    loader: GroupLoader[tuple[Name, int], Found],
    record: EventRecord,
    wanted: Name | None,
    ahead: set[Name | None],
) -> Found | None:
    """The value of what is `wanted` as of the event, fetched together with those `ahead`."""
    if wanted is None:
        return None
    others = [each for each in ahead if each is not None]
    found, *_ = await asyncio.gather(
        *(loader.find((each, record.at), record.fleet_id) for each in (wanted, *others))
    )
    return found
