-- What agents learned: episodes, their vectors, what became of them, how often they were used; and entities.
-- A name longer than an index's entry is found by the hex SHA-256 of it. An episode and its vector never change; its state is
-- versioned. node_id is the node of the graph that says what the episode says. reflection, metadata, entities, based_on
-- and members (the ids of what an axiom merged) are JSON.

INSERT INTO id_sequence (name, next_id) VALUES ('domain', 1), ('episode', 1), ('relation', 1);

CREATE TABLE episode_domain (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    name_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension BETWEEN 1 AND 4096)
) STRICT;
CREATE UNIQUE INDEX episode_domain_by_name ON episode_domain (tenant_id, fleet_id, name_hash);

CREATE TABLE episode (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    domain_id INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    reflection TEXT NOT NULL,
    schema_version TEXT NOT NULL,
    metadata TEXT NOT NULL,
    entities TEXT NOT NULL,
    based_on TEXT NOT NULL,
    members TEXT NOT NULL,
    node_id INTEGER,
    execution_key TEXT,
    execution_hash TEXT,
    agent TEXT,
    agent_hash TEXT
) STRICT;
CREATE INDEX episode_by_fleet ON episode (tenant_id, fleet_id, id);
CREATE INDEX episode_by_domain ON episode (tenant_id, fleet_id, domain_id, id);
CREATE INDEX episode_by_execution ON episode (tenant_id, fleet_id, execution_hash, id) WHERE execution_hash IS NOT NULL;
CREATE INDEX episode_by_agent ON episode (tenant_id, fleet_id, agent_hash, id) WHERE agent_hash IS NOT NULL;

-- float32, little-endian.
CREATE TABLE episode_embedding (
    episode_id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    vector BLOB NOT NULL
) STRICT;

-- status: 1 quarantined, 2 active, 3 retired, 4 merged into axiom_id. decided_by, proof and note tell who gave it this state, on
-- which terminal status of its task (NULL: a sign-off, or none was asked for), and why.
CREATE TABLE episode_state (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    domain_id INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 1 AND 4),
    axiom_id INTEGER,
    decided_by TEXT,
    proof INTEGER,
    note TEXT,
    valid_from INTEGER NOT NULL
) STRICT;
CREATE INDEX episode_state_by_change ON episode_state (tenant_id, fleet_id, domain_id, valid_from, status);

CREATE TABLE episode_state_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    domain_id INTEGER NOT NULL,
    status INTEGER NOT NULL,
    axiom_id INTEGER,
    decided_by TEXT,
    proof INTEGER,
    note TEXT,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_state_closed ON episode_state_history (tenant_id, fleet_id, domain_id, valid_to, id);

CREATE TABLE episode_use (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL
) STRICT;

CREATE TABLE episode_use_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;

-- Which episodes name an entity.
CREATE TABLE episode_entity (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    entity_hash TEXT NOT NULL,
    episode_id INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, entity_hash, episode_id)
) STRICT, WITHOUT ROWID;

-- type: 1 caused by, 2 resolved with, 3 related to.
CREATE TABLE entity_relation (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    source_hash TEXT NOT NULL,
    target_hash TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type INTEGER NOT NULL CHECK (type BETWEEN 1 AND 3),
    related_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX entity_relation_by_source ON entity_relation (tenant_id, fleet_id, source_hash, target_hash, type);
CREATE INDEX entity_relation_by_target ON entity_relation (tenant_id, fleet_id, target_hash);

CREATE TRIGGER episode_update BEFORE UPDATE ON episode BEGIN SELECT RAISE(ABORT, 'an episode is final'); END;
CREATE TRIGGER episode_delete BEFORE DELETE ON episode BEGIN SELECT RAISE(ABORT, 'an episode is final'); END;
CREATE TRIGGER episode_state_history_update BEFORE UPDATE ON episode_state_history
BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER episode_state_history_delete BEFORE DELETE ON episode_state_history
BEGIN SELECT RAISE(ABORT, 'history is final'); END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('episode_domain', 'episode_domain_by_name', '100 50 50 1'),
    ('episode', 'episode_by_fleet', '100000 50000 50000 1'),
    ('episode', 'episode_by_domain', '100000 50000 50000 10000 1'),
    ('episode', 'episode_by_execution', '100000 50000 50000 5 1'),
    ('episode', 'episode_by_agent', '100000 50000 50000 5000 1'),
    ('episode_state', 'episode_state_by_change', '100000 50000 50000 10000 5 1'),
    ('episode_state_history', 'episode_state_history', '100000 1 1 1'),
    ('episode_state_history', 'episode_state_closed', '100000 50000 50000 10000 5 1'),
    ('episode_use_history', 'episode_use_history', '200000 4 1 1'),
    ('episode_entity', 'episode_entity', '200000 100000 100000 20 1'),
    ('entity_relation', 'entity_relation_by_source', '10000 5000 5000 3 1 1'),
    ('entity_relation', 'entity_relation_by_target', '10000 5000 5000 3');
ANALYZE sqlite_schema;
