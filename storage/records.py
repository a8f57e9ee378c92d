"""The values that storage hands out and takes in: frozen, plain, without a connection.

Instants are UTC microseconds.  Every record that was read carries `as_of`, the instant it was
read at, so that what is asked of it later is asked of the same instant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, NamedTuple, TypeVar

from retrograph.rules.cascade import ImpactKind
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity

T = TypeVar("T")


class NodeKind(IntEnum):
    """What a node is: an assertion with a payload, or a rule with a contract hash."""

    ASSERTION = 1
    RULE = 2


class RunStatus(IntEnum):
    """What became of a run; `REVERTED` only from the instant of the revert on."""

    APPLIED = 1
    NO_CHANGE = 2
    REVERTED = 3


class EventType(IntEnum):
    """The kinds of outbox events."""

    NODE_STALE = 1
    PINNED_NODE_REVIEW = 2
    REEVALUATION_TRIGGERED = 3
    REVALIDATION_READY = 4
    NODE_REVALIDATED = 5
    NODE_RESTORED = 6
    NODE_REFUTED = 7
    REVALIDATION_RETRY_SCHEDULED = 8
    REVALIDATION_DEAD_LETTERED = 9
    REVALIDATION_CANCELLED = 10
    CHECKPOINT_COMMITTED = 11
    RUN_REVERTED = 12
    FLEET_REWOUND = 13
    EPISODES_RETIRED = 14
    EPISODES_MERGED = 15


class Direction(IntEnum):
    """Which way a walk follows edges."""

    DEPENDENTS = 1
    DEPENDENCIES = 2
    BOTH = 3


class ChangeKind(IntEnum):
    """What happened to a node or edge between two instants."""

    CREATED = 1
    CHANGED = 2
    REMOVED = 3


@dataclass(frozen=True, slots=True)
class NodeRef:
    """Names a node by id or by key: exactly one of them."""

    id: int | None = None
    key: str | None = None


class NodeRecord(NamedTuple):
    """A node as of an instant; a tuple, since pages make them by the thousand.

    `validity` is what the node says; `projected` is what cascades left on it (they differ only
    under a pin).  `payload` is canonical JSON text.  `valid_to` is None while the version is open
    at `as_of`.  `run_id` and `run_ordinal` name the impact that gave the node its state.
    """

    tenant_id: int
    fleet_id: int
    id: int
    key: str | None
    kind: NodeKind
    created_at: int
    validity: Validity
    projected: Validity
    pinned: bool
    pin_reason: str | None
    confidence: float
    base_confidence: float
    payload: str | None
    contract_hash: str | None
    expires_at: int | None
    run_id: int | None
    run_ordinal: int | None
    valid_from: int
    valid_to: int | None
    as_of: int

    @property
    def version_id(self) -> str:
        """Id and `valid_from`: names this version and no other."""
        return f"{self.id}@{self.valid_from}"


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """An edge as of an instant: `source` is depended upon by `target`."""

    tenant_id: int
    fleet_id: int
    id: int
    type: EdgeType
    source_id: int
    target_id: int
    valid_from: int
    valid_to: int | None
    as_of: int

    def far_end(self, near: int) -> int:
        """The end that is not `near`."""
        return self.target_id if self.source_id == near else self.source_id


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """A URI with a note that hangs on a node."""

    id: int
    node_id: int
    uri: str
    note: str | None
    valid_from: int
    as_of: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A cascade that was run, as of an instant."""

    tenant_id: int
    fleet_id: int
    id: int
    status: RunStatus
    root_id: int
    effect: Validity
    reason: str
    effective_at: int
    executed_at: int
    impact_count: int
    reverts_run_id: int | None
    reverted_by_run_id: int | None
    reverted_at: int | None
    as_of: int


@dataclass(frozen=True, slots=True)
class ImpactRecord:
    """One raised node of a run.  `cause` is the ordinal of the causing impact."""

    run_id: int
    ordinal: int
    node_id: int
    kind: ImpactKind
    before: Validity
    after: Validity
    depth: int
    cause: int | None
    origin_id: int | None


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An outbox row; its cursor is (`at`, `ordinal`).  `detail` is JSON text."""

    tenant_id: int
    fleet_id: int
    at: int
    ordinal: int
    type: EventType
    node_id: int | None
    run_id: int | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class ReachedRecord:
    """A node reached by a walk: `path` are node ids from the start to the node, both included."""

    node_id: int
    depth: int
    path: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A simple dependency path: `nodes` one longer than `edges`."""

    nodes: tuple[int, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes around some roots, nearest first, and the edges between them.

    `truncated` tells that there are more nodes than it holds.
    """

    node_ids: list[int]
    edges: list[EdgeRecord]
    truncated: bool
    as_of: int


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """What became of one node or edge in a window of time; `at` is its last change in it.

    `as_of` is the instant at which it can be read: the end of the window, or, if it was removed,
    the last one at which it was there.
    """

    at: int
    kind: ChangeKind
    as_of: int
    node_id: int | None = None
    edge: EdgeRecord | None = None


@dataclass(frozen=True, slots=True)
class StalenessRecord:
    """Why a node is unhealthy: the run, and node ids from the run's root to the node."""

    run: RunRecord
    depth: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a keyset connection, read at `as_of`; `has_next` tells that rows follow.

    `truncated` tells that the search behind the page gave up at a limit: rows may be missing.
    """

    rows: list[T]
    has_next: bool
    as_of: int
    truncated: bool = field(default=False)
