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


def scope_columns() -> list[Column[Any]]:
    """The tenant and the fleet of a row."""
    return [
        Column("tenant_id", BigInteger, nullable=False),
        Column("fleet_id", BigInteger, nullable=False),
    ]


def id_column() -> Column[int]:
    """The primary key: a number that is never given twice."""
    return Column("id", BigInteger, primary_key=True, autoincrement=False)


def versioned(name: str, columns: Callable[[], list[Column[Any]]]) -> Versioned:
    """The pair of tables of that name."""
    current = Table(
        name,
        metadata,
        id_column(),
        *scope_columns(),
        *columns(),
        Column("valid_from", Period, nullable=False),
    )
    history = Table(
        f"{name}_history",
        metadata,
        id_column(),
        *scope_columns(),
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
    id_column(),
    *scope_columns(),
    Column("key", Text),
    Column("kind", SmallInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
)

node_state = versioned(
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

node_content = versioned(
    "node_content",
    lambda: [
        Column("payload", Text),
        Column("contract_hash", Text),
        Column("base_confidence", Float, nullable=False),
        Column("expires_at", Moment),
    ],
)

edge = versioned(
    "edge",
    lambda: [
        Column("source_id", BigInteger, nullable=False),
        Column("target_id", BigInteger, nullable=False),
        Column("type", SmallInteger, nullable=False),
    ],
)

evidence = versioned(
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
    id_column(),
    *scope_columns(),
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
    *scope_columns(),
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
    *scope_columns(),
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
    *scope_columns(),
    Column("key", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("run_id", BigInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
)

task = versioned(
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
    *scope_columns(),
    Column("component_id", BigInteger, primary_key=True, autoincrement=False),
    Column("blockers", BigInteger, nullable=False),
)

decision = Table(
    "decision",
    metadata,
    id_column(),
    *scope_columns(),
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
    id_column(),
    *scope_columns(),
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

relay_cursor = Table(
    "relay_cursor",
    metadata,
    *scope_columns(),
    Column("name", Text, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    Column("dispatched", BigInteger, nullable=False),
)

execution = Table(
    "execution",
    metadata,
    id_column(),
    *scope_columns(),
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
        *scope_columns(),
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
    Column("erasure", Text),
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
    Column("erasure", Text),
    Column("codec", SmallInteger),
    Column("result", LargeBinary),
)
