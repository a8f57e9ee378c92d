"""The tables of working memories and episodes, as SQLAlchemy sees them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, SmallInteger, Table, Text

from retrograph.storage.tables import Moment, id_column, metadata, scope_columns, versioned

working_memory = versioned(
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
    id_column(),
    *scope_columns(),
    Column("name_hash", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("dimension", BigInteger, nullable=False),
)

episode = Table(
    "episode",
    metadata,
    id_column(),
    *scope_columns(),
    Column("domain_id", BigInteger, nullable=False),
    Column("stored_at", Moment, nullable=False),
    Column("reflection", Text, nullable=False),
    Column("schema_version", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("entities", Text, nullable=False),
    Column("based_on", Text, nullable=False),
    Column("members", Text, nullable=False),
    Column("node_id", BigInteger),
    Column("execution_key", Text),
    Column("execution_hash", Text),
    Column("agent", Text),
    Column("agent_hash", Text),
)

episode_embedding = Table(
    "episode_embedding",
    metadata,
    Column("episode_id", BigInteger, primary_key=True, autoincrement=False),
    *scope_columns(),
    Column("vector", LargeBinary, nullable=False),
)

episode_entity = Table(
    "episode_entity",
    metadata,
    *scope_columns(),
    Column("entity_hash", Text, primary_key=True),
    Column("episode_id", BigInteger, primary_key=True, autoincrement=False),
)

episode_state = versioned(
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

episode_use = versioned(
    "episode_use",
    lambda: [
        Column("uses", BigInteger, nullable=False),
        Column("last_used_at", Moment, nullable=False),
    ],
)

entity_relation = Table(
    "entity_relation",
    metadata,
    id_column(),
    *scope_columns(),
    Column("source_hash", Text, nullable=False),
    Column("target_hash", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("related_at", Moment, nullable=False),
)
