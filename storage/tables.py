"""The tables as SQLAlchemy sees them; the truth is the numbered SQL under `retrograph.sql`.

A `Versioned` table is a pair: the current table holds the open versions, its history table the
closed ones with their `valid_to`.  Instants are UTC microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Float, LargeBinary, MetaData, SmallInteger, Table, Text

from retrograph.storage.periods import DateTime2, TimestampPeriod

metadata = MetaData()

Moment = BigInteger().with_variant(DateTime2(), "mssql")
"""The type of an instant that a statement gives."""
Period = Moment.with_variant(TimestampPeriod(), "mysql", "mariadb")
"""The type of an instant that the engine gives where it versions rows by itself."""


@dataclass(frozen=True, slots=True)
class Versioned:
    """A system-versioned table: its open versions and its closed ones."""

    current: Table
    history: Table


def _scope() -> list[Column[Any]]:
    return [
        Column("tenant_id", BigInteger, nullable=False),
        Column("fleet_id", BigInteger, nullable=False),
    ]


def _id() -> Column[int]:
    return Column("id", BigInteger, primary_key=True, autoincrement=False)


def _versioned(name: str, columns: Callable[[], list[Column[Any]]]) -> Versioned:
    current = Table(
        name, metadata, _id(), *_scope(), *columns(), Column("valid_from", Period, nullable=False)
    )
    history = Table(
        f"{name}_history",
        metadata,
        _id(),
        *_scope(),
        *columns(),
        Column("valid_from", Period, nullable=False),
        Column("valid_to", Period, primary_key=True, autoincrement=False),
    )
    return Versioned(current, history)


fleet = Table(
    "fleet",
    metadata,
    Column("tenant_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fleet_id", BigInteger, primary_key=True, autoincrement=False),
    Column("clock", Moment, nullable=False),
    Column("created_at", Moment, nullable=False),
)

id_sequence = Table(
    "id_sequence",
    metadata,
    Column("name", Text, primary_key=True),
    Column("next_id", BigInteger, nullable=False),
)

node = Table(
    "node",
    metadata,
    _id(),
    *_scope(),
    Column("key", Text),
    Column("kind", SmallInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
)

node_state = _versioned(
    "node_state",
    lambda: [
        Column("validity", SmallInteger, nullable=False),
        Column("projected", SmallInteger, nullable=False),
        Column("pinned", SmallInteger, nullable=False),
        Column("confidence", Float),
        Column("run_id", BigInteger),
        Column("run_ordinal", BigInteger),
        Column("pin_reason", Text),
    ],
)

node_content = _versioned(
    "node_content",
    lambda: [
        Column("payload", Text),
        Column("contract_hash", Text),
        Column("base_confidence", Float, nullable=False),
        Column("expires_at", Moment),
    ],
)

edge = _versioned(
    "edge",
    lambda: [
        Column("source_id", BigInteger, nullable=False),
        Column("target_id", BigInteger, nullable=False),
        Column("type", SmallInteger, nullable=False),
    ],
)

evidence = _versioned(
    "evidence",
    lambda: [
        Column("node_id", BigInteger, nullable=False),
        Column("uri", Text, nullable=False),
        Column("note", Text),
    ],
)

run = Table(
    "run",
    metadata,
    _id(),
    *_scope(),
    Column("status", SmallInteger, nullable=False),
    Column("root_id", BigInteger, nullable=False),
    Column("effect", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("effective_at", Moment, nullable=False),
    Column("executed_at", Moment, nullable=False),
    Column("impact_count", BigInteger, nullable=False),
    Column("reverts_run_id", BigInteger),
    Column("reverted_by_run_id", BigInteger),
    Column("reverted_at", Moment),
)

impact = Table(
    "impact",
    metadata,
    *_scope(),
    Column("run_id", BigInteger, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True),
    Column("node_id", BigInteger, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("before", SmallInteger, nullable=False),
    Column("after", SmallInteger, nullable=False),
    Column("cause", BigInteger),
    Column("origin_id", BigInteger),
    Column("depth", BigInteger, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    *_scope(),
    Column("at", Moment, primary_key=True),
    Column("ordinal", BigInteger, primary_key=True),
    Column("type", SmallInteger, nullable=False),
    Column("node_id", BigInteger),
    Column("run_id", BigInteger),
    Column("run_ordinal", BigInteger),
    Column("detail", Text),
)

idempotency = Table(
    "idempotency",
    metadata,
    *_scope(),
    Column("key", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("run_id", BigInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
)

task = _versioned(
    "task",
    lambda: [
        Column("node_id", BigInteger, nullable=False),
        Column("run_id", BigInteger),
        Column("run_ordinal", BigInteger),
        Column("opened_at", Moment, nullable=False),
        Column("awaiting", SmallInteger, nullable=False),
        Column("priority", BigInteger, nullable=False),
        Column("component_id", BigInteger, nullable=False),
        Column("status", SmallInteger, nullable=False),
        Column("attempt", BigInteger, nullable=False, default=0),
        Column("due_at", Moment),
        Column("leased_by", Text),
        Column("lease_token", Text),
        Column("claimed_at", Moment),
    ],
)

task_gate = Table(
    "task_gate",
    metadata,
    *_scope(),
    Column("component_id", BigInteger, primary_key=True, autoincrement=False),
    Column("blockers", BigInteger, nullable=False),
)

decision = Table(
    "decision",
    metadata,
    _id(),
    *_scope(),
    Column("task_id", BigInteger),
    Column("node_id", BigInteger, nullable=False),
    Column("run_id", BigInteger),
    Column("at", Moment, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("unchanged", SmallInteger, nullable=False),
    Column("confidence", Float),
    Column("evidence", Text),
    Column("note", Text),
    Column("decided_by", Text),
    Column("worker", Text),
    Column("attempt", BigInteger, nullable=False),
)

scheduled_invalidation = Table(
    "scheduled_invalidation",
    metadata,
    _id(),
    *_scope(),
    Column("node_id", BigInteger, nullable=False),
    Column("effect", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("effective_at", Moment, nullable=False),
    Column("requested_at", Moment, nullable=False),
    Column("key", Text),
    Column("request_hash", Text, nullable=False),
    Column("expected_plan", Text),
    Column("expected_version", Text),
    Column("outcome", SmallInteger),
    Column("settled_at", Moment),
    Column("run_id", BigInteger),
    Column("failure_code", Text),
    Column("failure", Text),
)

working_memory = _versioned(
    "working_memory",
    lambda: [
        Column("session_hash", Text, nullable=False),
        Column("session", Text, nullable=False),
        Column("version", BigInteger, nullable=False),
        Column("state", Text, nullable=False),
        Column("evictions", Text, nullable=False),
        Column("tokens", BigInteger, nullable=False),
    ],
)

episode_domain = Table(
    "episode_domain",
    metadata,
    _id(),
    *_scope(),
    Column("name_hash", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("dimension", BigInteger, nullable=False),
)

episode = Table(
    "episode",
    metadata,
    _id(),
    *_scope(),
    Column("domain_id", BigInteger, nullable=False),
    Column("stored_at", Moment, nullable=False),
    Column("reflection", Text, nullable=False),
    Column("schema_version", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("entities", Text, nullable=False),
    Column("based_on", Text, nullable=False),
    Column("members", Text, nullable=False),
    Column("node_id", BigInteger),
    Column("execution", Text),
    Column("execution_hash", Text),
    Column("agent", Text),
    Column("agent_hash", Text),
)

episode_embedding = Table(
    "episode_embedding",
    metadata,
    Column("episode_id", BigInteger, primary_key=True, autoincrement=False),
    *_scope(),
    Column("vector", LargeBinary, nullable=False),
)

episode_state = _versioned(
    "episode_state",
    lambda: [
        Column("domain_id", BigInteger, nullable=False),
        Column("status", SmallInteger, nullable=False),
        Column("axiom_id", BigInteger),
        Column("decided_by", Text),
        Column("proof", SmallInteger),
        Column("note", Text),
    ],
)

episode_use = _versioned(
    "episode_use",
    lambda: [
        Column("uses", BigInteger, nullable=False),
        Column("last_used_at", Moment, nullable=False),
    ],
)

entity_relation = Table(
    "entity_relation",
    metadata,
    _id(),
    *_scope(),
    Column("source_hash", Text, nullable=False),
    Column("target_hash", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("related_at", Moment, nullable=False),
)

tenant = Table(
    "tenant",
    metadata,
    Column("tenant_id", BigInteger, primary_key=True, autoincrement=False),
)

leadership = Table(
    "leadership",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("expires_at", Moment, nullable=False),
)

execution = Table(
    "execution",
    metadata,
    _id(),
    *_scope(),
    Column("key", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("deleted_at", Moment),
    Column("deleted_by", Text),
    Column("deletion_reason", Text),
    Column("purged_at", Moment),
)


def _of_execution(ordinal: str) -> list[Column[Any]]:
    """What a row of an execution begins with: its place there, and its scope."""
    return [
        Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
        Column(ordinal, BigInteger, primary_key=True, autoincrement=False),
        *_scope(),
    ]


checkpoint = Table(
    "checkpoint",
    metadata,
    *_of_execution("sequence"),
    Column("committed_at", Moment, nullable=False),
    Column("session", Text, nullable=False),
    Column("state_node", Text, nullable=False),
    Column("schema_version", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("based_on", Text, nullable=False),
    Column("previous_hash", Text),
    Column("hash", Text, nullable=False),
    Column("codec", SmallInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
)

checkpoint_anchor = Table(
    "checkpoint_anchor",
    metadata,
    *_of_execution("sequence"),
    Column("checkpoint_hash", Text, nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("committed_at", Moment, nullable=False),
    Column("removed_at", Moment, nullable=False),
    Column("removed_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("previous_hash", Text),
    Column("hash", Text, nullable=False),
)

execution_step = Table(
    "execution_step",
    metadata,
    *_of_execution("ordinal"),
    Column("key", Text, nullable=False),
    Column("sequence", BigInteger),
    Column("name", Text),
    Column("worker", Text),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("outcome", SmallInteger),
    Column("previous_hash", Text),
    Column("hash", Text, nullable=False),
    Column("finish_ordinal", BigInteger),
    Column("finish_previous_hash", Text),
    Column("finish_hash", Text),
    Column("codec", SmallInteger),
    Column("result", LargeBinary),
)
