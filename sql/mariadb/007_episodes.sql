-- What agents learned: episodes, their vectors, what became of them, how often they were used; and entities.
-- A name longer than an index's entry is found by the hex SHA-256 of it. An episode and its vector never change; its state is
-- versioned. node_id is the node of the graph that says what the episode says. reflection, metadata, entities, based_on
-- and members (the ids of what an axiom merged) are JSON.

INSERT IGNORE INTO id_sequence (name, next_id) VALUES ('domain', 1), ('episode', 1), ('relation', 1);

CREATE TABLE IF NOT EXISTS episode_domain (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    name_hash VARCHAR(64) NOT NULL,
    name TEXT NOT NULL,
    dimension BIGINT NOT NULL CHECK (dimension BETWEEN 1 AND 4096),
    UNIQUE KEY episode_domain_by_name (tenant_id, fleet_id, name_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS episode (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    domain_id BIGINT NOT NULL,
    stored_at BIGINT NOT NULL,
    reflection LONGTEXT NOT NULL,
    schema_version VARCHAR(40) NOT NULL,
    metadata LONGTEXT NOT NULL,
    entities LONGTEXT NOT NULL,
    based_on LONGTEXT NOT NULL,
    members LONGTEXT NOT NULL,
    node_id BIGINT,
    execution_key TEXT,
    execution_hash VARCHAR(64),
    agent TEXT,
    agent_hash VARCHAR(64),
    KEY episode_by_fleet (tenant_id, fleet_id, id),
    KEY episode_by_domain (tenant_id, fleet_id, domain_id, id),
    KEY episode_by_execution (tenant_id, fleet_id, execution_hash, id),
    KEY episode_by_agent (tenant_id, fleet_id, agent_hash, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- float32, little-endian.
CREATE TABLE IF NOT EXISTS episode_embedding (
    episode_id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    vector MEDIUMBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- status: 1 quarantined, 2 active, 3 retired, 4 merged into axiom_id. decided_by, proof and note tell who gave it this state, on
-- which terminal status of its task (NULL: a sign-off, or none was asked for), and why.
CREATE TABLE IF NOT EXISTS episode_state (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    domain_id BIGINT NOT NULL,
    status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 4),
    axiom_id BIGINT,
    decided_by TEXT,
    proof SMALLINT,
    note TEXT,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    KEY episode_state_by_change (tenant_id, fleet_id, domain_id, valid_from, status),
    KEY episode_state_closed (tenant_id, fleet_id, domain_id, valid_to, id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE OR REPLACE VIEW episode_state_history AS
SELECT * FROM episode_state FOR SYSTEM_TIME ALL
WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

CREATE TABLE IF NOT EXISTS episode_use (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE OR REPLACE VIEW episode_use_history AS
SELECT * FROM episode_use FOR SYSTEM_TIME ALL
WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

-- Which episodes name an entity.
CREATE TABLE IF NOT EXISTS episode_entity (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    entity_hash VARCHAR(64) NOT NULL,
    episode_id BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, entity_hash, episode_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- type: 1 caused by, 2 resolved with, 3 related to.
CREATE TABLE IF NOT EXISTS entity_relation (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    source_hash VARCHAR(64) NOT NULL,
    target_hash VARCHAR(64) NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 3),
    related_at BIGINT NOT NULL,
    UNIQUE KEY entity_relation_by_source (tenant_id, fleet_id, source_hash, target_hash, type),
    KEY entity_relation_by_target (tenant_id, fleet_id, target_hash)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
