"""The enums of the rules and of storage, named and described for clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import strawberry
from strawberry.types.enum import StrawberryEnumDefinition

from retrograph.resolvers.complete_revalidation import Outcome
from retrograph.resolvers.inputs import OnChange
from retrograph.resolvers.scope import Role
from retrograph.rules.budget import EvictionKind
from retrograph.rules.cascade import ImpactKind
from retrograph.rules.chain import ChainFaultKind
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.entity import EntityKind, RelationType
from retrograph.rules.reflection import EpisodeStatus, TerminalStatus
from retrograph.rules.validity import Validity
from retrograph.rules.working_memory import HypothesisStatus
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.records import ChangeKind, Direction, EventType, NodeKind, RunStatus
from retrograph.storage.scheduled import ScheduleStatus
from retrograph.storage.task_records import DecisionKind, TaskStatus
from retrograph.storage.update_records import UpdateKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import IntEnum

Member = TypeVar("Member", bound="IntEnum")

__all__ = [
    "ChainFaultKind",
    "ChangeKind",
    "DecisionKind",
    "Direction",
    "EdgeType",
    "EntityKind",
    "EpisodeStatus",
    "EventType",
    "EvictionKind",
    "HypothesisStatus",
    "ImpactKind",
    "NodeKind",
    "OnChange",
    "Outcome",
    "RelationType",
    "Role",
    "RunStatus",
    "ScheduleStatus",
    "StepStatus",
    "TaskStatus",
    "TerminalStatus",
    "UpdateKind",
    "Validity",
]


def _describe(enum: type[Member], description: str, values: Mapping[Member, str]) -> None:
    """Make an enum known to GraphQL under its own name, with a description for each value."""
    strawberry.enum(enum, description=description)
    definition: StrawberryEnumDefinition = enum.__strawberry_definition__  # type: ignore[attr-defined]
    for value in definition.values:
        value.description = values[enum(value.value)]


_describe(
    Validity,
    "How far a node can be relied on.",
    {
        Validity.CURRENTLY_VALID: "Healthy: nothing speaks against it.",
        Validity.POTENTIALLY_STALE: "Something it rests on has changed: judge it again.",
        Validity.DEFINITELY_STALE: "Something it was derived from has fallen: judge it again.",
        Validity.INVALID: "Dead: refuted, or one of its requirements is dead.",
        Validity.SUPERSEDED: "Dead: another node has taken its place.",
        Validity.REVALIDATED: "Healthy: judged again, and confirmed.",
    },
)
_describe(
    EdgeType,
    "How the target of an edge depends on its source.",
    {
        EdgeType.DERIVED_FROM: "The target was derived from the source.",
        EdgeType.REQUIRES: "The target can't hold unless the source does.",
        EdgeType.CONTRADICTS: "The source speaks against the target.",
        EdgeType.SUPERSEDES: "The source takes the place of the target.",
        EdgeType.VALID_ONLY_WHEN: "The target holds only while the source does.",
        EdgeType.SUPPORTED_BY: "The source is one of the supporters of the target.",
        EdgeType.OBSERVED_FROM: "The target was observed through the source.",
    },
)
_describe(
    NodeKind,
    "What a node is.",
    {
        NodeKind.ASSERTION: "A belief, with a payload.",
        NodeKind.RULE: "A rule, with a contract hash and a payload.",
    },
)
_describe(
    ImpactKind,
    "What a run did to a node.",
    {
        ImpactKind.CHANGED: "Its validity was changed.",
        ImpactKind.PINNED: "Its pin kept its validity; a person is asked to look.",
        ImpactKind.REEVALUATE: "What spoke against it has fallen: it is to be judged again.",
    },
)
_describe(
    RunStatus,
    "What became of a run.",
    {
        RunStatus.APPLIED: "It changed at least one node.",
        RunStatus.NO_CHANGE: "It changed nothing.",
        RunStatus.REVERTED: "A later run has undone it.",
    },
)
_describe(
    ScheduleStatus,
    "What became of a scheduled invalidation.",
    {
        ScheduleStatus.PENDING: "It waits for its hour.",
        ScheduleStatus.EXECUTED: "It was run.",
        ScheduleStatus.FAILED: "It was refused at its hour; `failureCode` tells why.",
        ScheduleStatus.CANCELLED: "It was cancelled before its hour.",
    },
)
_describe(
    EventType,
    "What an event tells.",
    {
        EventType.NODE_STALE: "A run has lowered the node.",
        EventType.PINNED_NODE_REVIEW: "A run would have lowered the node but for its pin.",
        EventType.REEVALUATION_TRIGGERED: "What spoke against the node has fallen.",
        EventType.REVALIDATION_READY: "The node may be judged again now.",
        EventType.NODE_REVALIDATED: "The node was judged again, and confirmed.",
        EventType.NODE_RESTORED: "The node is healthy again without a judgement of its own.",
        EventType.NODE_REFUTED: "The node was judged again, and refuted.",
        EventType.REVALIDATION_RETRY_SCHEDULED: "Judging the node failed; it is tried again.",
        EventType.REVALIDATION_DEAD_LETTERED: "Judging the node failed too often.",
        EventType.REVALIDATION_CANCELLED: "The node need not be judged any more.",
        EventType.CHECKPOINT_COMMITTED: "A checkpoint was committed.",
        EventType.RUN_REVERTED: "A run was undone.",
        EventType.FLEET_REWOUND: "The fleet was set back to an earlier instant.",
        EventType.EPISODES_RETIRED: "Episodes are not recalled any more.",
        EventType.EPISODES_MERGED: "Episodes that say the same have become an axiom.",
    },
)
_describe(
    Direction,
    "Which way a walk follows edges.",
    {
        Direction.DEPENDENTS: "From what is depended upon to what depends on it.",
        Direction.DEPENDENCIES: "From what depends to what it depends upon.",
        Direction.BOTH: "Both ways.",
    },
)
_describe(
    ChangeKind,
    "What happened to a node or an edge between two instants.",
    {
        ChangeKind.CREATED: "It was not there at the first, and is at the second.",
        ChangeKind.CHANGED: "It is there at both, and has changed in between.",
        ChangeKind.REMOVED: "It is not there at the second.",
    },
)
_describe(
    UpdateKind,
    "What became of a node or an edge that is watched.",
    {
        UpdateKind.PRESENT: "A node or an edge of the snapshot.",
        UpdateKind.SNAPSHOT_END: "The snapshot has been told.",
        UpdateKind.ENTERED: "It has come, or passes the filter from now on.",
        UpdateKind.CHANGED: "It has changed, and passes the filter as before.",
        UpdateKind.LEFT: "It has gone, or passes the filter no more.",
    },
)
_describe(
    OnChange,
    "What a change of a node's content does to its dependents.",
    {
        OnChange.PROPAGATE: "They become potentially stale.",
        OnChange.KEEP: "Nothing: the edit is cosmetic.",
    },
)
_describe(
    TaskStatus,
    "Where a task stands. The first five are open: the node is still to be judged.",
    {
        TaskStatus.WAITING: "Something that its node depends on is to be judged first.",
        TaskStatus.READY: "It may be claimed.",
        TaskStatus.LEASED: "A worker holds it.",
        TaskStatus.BACKING_OFF: "A judgement failed; it is ready again at `notBefore`.",
        TaskStatus.DEAD_LETTER: "Judgements failed too often; somebody has to look.",
        TaskStatus.VERIFIED: "The node was verified, or repaired.",
        TaskStatus.REFUTED: "The node was refuted.",
        TaskStatus.CUT_OFF: "The node was restored: what it rests on still says what it said.",
        TaskStatus.CANCELLED_SUPERSEDED: "A newer run has swept the node, or a pin was set.",
    },
)
_describe(
    Outcome,
    "What a judgement came to.",
    {
        Outcome.VERIFIED: "The node holds.",
        Outcome.REFUTED: "The node does not hold; what rests on it falls with it.",
        Outcome.ERROR: "No judgement was reached: it is tried again, up to five times.",
    },
)
_describe(
    DecisionKind,
    "What was decided of a node.",
    {
        DecisionKind.VERIFIED: "A judgement found that it holds.",
        DecisionKind.REFUTED: "A judgement found that it does not hold.",
        DecisionKind.ERROR: "A judgement failed.",
        DecisionKind.RESTORED_BY_CUTOFF: (
            "It was restored without a judgement: what it rests on still says what it said."
        ),
        DecisionKind.REPAIRED: "It was put right by `repairNode`.",
    },
)
_describe(
    Role,
    "What a caller may do.",
    {
        Role.AUDITOR: "Every query and subscription.",
        Role.CONTROLLER: "That of an auditor, and change the graph, repair and requeue.",
        Role.WORKER: "That of an auditor, and claim, extend and complete revalidations.",
        Role.ADMIN: "Everything.",
    },
)
_describe(
    StepStatus,
    "Where a step of an execution stands.",
    {
        StepStatus.SUCCEEDED: "It was done.",
        StepStatus.FAILED: "It was tried, and failed; another try takes another key.",
        StepStatus.STARTED: "It has begun; whether it was done is not known.",
    },
)
_describe(
    ChainFaultKind,
    "What is wrong with the first broken link of a chain.",
    {
        ChainFaultKind.ALTERED: "The checkpoint isn't what was committed there: its hash differs.",
        ChainFaultKind.MISSING: "The checkpoint isn't there, though later ones are.",
        ChainFaultKind.UNLINKED: "The checkpoint was made behind another one than that before it.",
        ChainFaultKind.ANCHOR_ALTERED: "The anchor isn't what was signed off.",
        ChainFaultKind.LOST_TAIL: "The chain ends before the head that was kept.",
        ChainFaultKind.EXECUTION_ALTERED: (
            "The execution's own row isn't as it began; the sequence is 0."
        ),
        ChainFaultKind.OTHER_HEAD: "Another checkpoint stands where the head that was kept stood.",
    },
)

_describe(
    HypothesisStatus,
    "What has become of a hypothesis.",
    {
        HypothesisStatus.OPEN: "Neither confirmed nor refuted yet.",
        HypothesisStatus.CONFIRMED: "It was found to be true.",
        HypothesisStatus.REFUTED: "It was found to be false.",
        HypothesisStatus.ABANDONED: "It is pursued no more.",
    },
)

_describe(
    EvictionKind,
    "What was done to make room in a working memory.",
    {
        EvictionKind.SUMMARIZED: "Only the first 200 characters of an observation were kept.",
        EvictionKind.OBSERVATION_DROPPED: "What was left of an observation went.",
        EvictionKind.REGISTER_DROPPED: "A register went that wasn't pinned.",
    },
)

_describe(
    EpisodeStatus,
    "What has become of an episode.",
    {
        EpisodeStatus.QUARANTINED: "It was stored, and nobody has vouched for it yet.",
        EpisodeStatus.ACTIVE: "It is recalled.",
        EpisodeStatus.RETIRED: "It is recalled no more.",
        EpisodeStatus.MERGED: "An axiom has taken its place; what it says goes with the axiom.",
    },
)

_describe(
    TerminalStatus,
    "How a task ended.",
    {
        TerminalStatus.SUCCEEDED: "It did what it should.",
        TerminalStatus.FAILED: "It did not.",
        TerminalStatus.CANCELLED: "It was given up.",
    },
)

_describe(
    EntityKind,
    "What an entity is to an agent.",
    {
        EntityKind.TOOL: "Something that it uses.",
        EntityKind.ENTITY: "Something that it deals with.",
        EntityKind.ERROR: "Something that went wrong.",
    },
)

_describe(
    RelationType,
    "How one entity relates to another.",
    {
        RelationType.CAUSED_BY: "The other one causes it.",
        RelationType.RESOLVED_WITH: "The other one helps against it.",
        RelationType.RELATED_TO: "They have to do with each other.",
    },
)
