"""What the jobs take and give: plain values; ids are `int`, instants aware `datetime`s in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

Validity = Literal[
    "CURRENTLY_VALID",
    "DEFINITELY_STALE",
    "INVALID",
    "POTENTIALLY_STALE",
    "REVALIDATED",
    "SUPERSEDED",
]
NodeKind = Literal["ASSERTION", "RULE"]
EdgeType = Literal[
    "CONTRADICTS",
    "DERIVED_FROM",
    "OBSERVED_FROM",
    "REQUIRES",
    "SUPERSEDES",
    "SUPPORTED_BY",
    "VALID_ONLY_WHEN",
]
RunStatus = Literal["APPLIED", "NO_CHANGE", "REVERTED"]
Outcome = Literal["ERROR", "REFUTED", "VERIFIED"]
TaskStatus = Literal[
    "BACKING_OFF",
    "CANCELLED_SUPERSEDED",
    "CUT_OFF",
    "DEAD_LETTER",
    "LEASED",
    "READY",
    "REFUTED",
    "VERIFIED",
    "WAITING",
]

NodeName = str | int
"""A node's key, or its id."""


class NodeInput(TypedDict, total=False):
    """A node to make or to update, by the API's names; what is left out stays, None clears."""

    key: str
    id: str
    kind: NodeKind
    payload: Any
    contractHash: str | None
    confidence: float | None
    expiresAt: str | None
    expectedVersion: str


@dataclass(frozen=True, slots=True)
class Node:
    """A belief or a rule as of an instant."""

    id: int
    key: str | None
    kind: NodeKind
    payload: Any
    validity: Validity
    confidence: float
    pinned: bool
    version_id: str
    valid_from: datetime
    as_of: datetime

    @classmethod
    def of(cls, data: dict[str, Any]) -> Node:
        """The node that `... NodeFields` selects."""
        return cls(
            int(data["id"]),
            data["key"],
            data["kind"],
            data["payload"],
            data["validity"],
            data["confidence"],
            data["pinned"],
            data["versionId"],
            to_datetime(data["validFrom"]),
            to_datetime(data["asOf"]),
        )


@dataclass(frozen=True, slots=True)
class Nodes:
    """A page of nodes; `end_cursor` goes on behind it, None on an empty page."""

    rows: tuple[Node, ...]
    as_of: datetime
    has_next: bool
    end_cursor: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """A cascade that was run."""

    id: int
    status: RunStatus
    reason: str
    effect: Validity
    impact_count: int
    executed_at: datetime

    @classmethod
    def of(cls, data: dict[str, Any]) -> Run:
        """The run that `... RunFields` selects."""
        return cls(
            int(data["id"]),
            data["status"],
            data["reason"],
            data["effect"],
            data["impactCount"],
            to_datetime(data["executedAt"]),
        )


@dataclass(frozen=True, slots=True)
class Impact:
    """What a cascade would do to a node."""

    node: Node
    before: Validity
    after: Validity
    depth: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What would fall; `impacts` are the nearest to the root, `impact_count` counts all."""

    plan_hash: str
    impact_count: int
    impacts: tuple[Impact, ...]
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Put:
    """Nodes as they are now, and the runs that their new content has started."""

    nodes: tuple[Node, ...]
    runs: tuple[Run, ...]
    instant: datetime


@dataclass(frozen=True, slots=True)
class Linked:
    """The ids of edges, in the order given, and the run that they have started."""

    edge_ids: tuple[int, ...]
    run: Run | None
    instant: datetime


@dataclass(frozen=True, slots=True)
class Reverted:
    """The run that undid another; the ids of what it gave back, and of what it left alone."""

    run: Run
    restored_ids: tuple[int, ...]
    left_alone_ids: tuple[int, ...]
    instant: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a node rests on outside of the graph."""

    uri: str
    note: str | None


@dataclass(frozen=True, slots=True)
class Task:
    """A node to judge again: the run that felled it, if one did, and what supports it still.

    `lease_token` is told to whoever claims it. `attempt` counts the judgements that failed.
    """

    id: int
    status: TaskStatus
    attempt: int
    priority: int
    lease_token: str | None
    lease_expires_at: datetime | None
    node: Node
    run: Run | None
    standing_supporters: tuple[Node, ...]
    evidence: tuple[Evidence, ...]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Task:
        """The task that `... TaskFields` selects."""
        until = data["leaseExpiresAt"]
        return cls(
            int(data["id"]),
            data["status"],
            data["attempt"],
            data["priority"],
            data["leaseToken"],
            until and to_datetime(until),
            Node.of(data["node"]),
            data["run"] and Run.of(data["run"]),
            tuple(map(Node.of, data["standingSupporters"])),
            tuple(Evidence(each["uri"], each["note"]) for each in data["evidence"]),
        )


@dataclass(frozen=True, slots=True)
class Completed:
    """A judged node, and where its task stands: after an `ERROR` it comes again, or is given up.

    `run` is that of a refutation; `restored_count` nodes were healed without a judgement.
    """

    node: Node
    status: TaskStatus
    attempt: int
    run: Run | None
    restored_count: int
    instant: datetime

    @classmethod
    def of(cls, data: dict[str, Any]) -> Completed:
        """What a completion tells."""
        return cls(
            Node.of(data["node"]),
            data["task"]["status"],
            data["task"]["attempt"],
            data["run"] and Run.of(data["run"]),
            data["restoredCount"],
            to_datetime(data["instant"]),
        )


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired node; so many tasks are open on what rests on it, so many nodes were healed."""

    node: Node
    task_count: int
    restored_count: int
    instant: datetime


@dataclass(frozen=True, slots=True)
class EventNode:
    """The node that an event is about, as of the event."""

    id: int
    key: str | None
    validity: Validity


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `cursor` goes on behind it, `type` is one of the API's."""

    cursor: str
    type: str
    at: datetime
    fleet_id: int
    node: EventNode | None
    run_id: int | None
    reason: str | None
    detail: Any

    @classmethod
    def of(cls, data: dict[str, Any]) -> Event:
        """The event that the subscription selects."""
        node, run = data["node"], data["run"]
        return cls(
            data["cursor"],
            data["type"],
            to_datetime(data["at"]),
            int(data["fleetId"]),
            node and EventNode(int(node["id"]), node["key"], node["validity"]),
            run and int(run["id"]),
            run and run["reason"],
            data["detail"],
        )


def to_datetime(text: str) -> datetime:
    """The instant that the API wrote, to the microsecond."""
    return datetime.fromisoformat(text)


def to_instant(moment: datetime | str | None) -> str | None:
    """An instant as the API reads it; text is taken as it is. `ValueError` without a time zone."""
    if moment is None or isinstance(moment, str):
        return moment
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone; give one, such as datetime.UTC.")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def to_ref(node: NodeName) -> dict[str, str]:
    """A node's name as the API reads it."""
    return {"key": node} if isinstance(node, str) else {"id": str(node)}
