-- The graph: identities, system-versioned state, content, edges and evidence, and what runs did.
-- The engine keeps the versions itself. A writer pins @@timestamp to the instant of its transaction,
-- so that every row it writes carries that instant; every session's time zone is UTC.
-- All other instants are integers of UTC microseconds. Texts are compared byte by byte, unpadded.
-- A statement ends with a semicolon at the end of a line. DDL commits by itself here, so each
-- statement may be run again after a failure half-way.

CREATE TABLE IF NOT EXISTS fleet (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    clock BIGINT NOT NULL COMMENT 'the instant of the last committed write',
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS id_sequence (
    name VARCHAR(20) NOT NULL PRIMARY KEY,
    next_id BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

INSERT IGNORE INTO id_sequence (name, next_id) VALUES ('node', 1), ('edge', 1), ('evidence', 1), ('run', 1);

-- A key may be longer than an index entry, so its uniqueness is that of its hash.
CREATE TABLE IF NOT EXISTS node (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    `key` VARCHAR(1000),
    kind SMALLINT NOT NULL CHECK (kind BETWEEN 1 AND 2),
    created_at BIGINT NOT NULL,
    key_hash BINARY(32) AS (UNHEX(SHA2(`key`, 256))) PERSISTENT,
    UNIQUE KEY node_by_key_hash (tenant_id, fleet_id, key_hash),
    KEY node_by_key (tenant_id, fleet_id, `key`(191)),
    KEY node_by_fleet (tenant_id, fleet_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- Narrow on purpose: a cascade rewrites these rows, never payloads.
-- validity is what the node says; projected is what cascades left on it (they differ only under a pin).
-- confidence is NULL while the base confidence stands. run_id and run_ordinal name the impact that gave the state.
CREATE TABLE IF NOT EXISTS node_state (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    validity SMALLINT NOT NULL CHECK (validity BETWEEN 1 AND 6),
    projected SMALLINT NOT NULL CHECK (projected BETWEEN 1 AND 6),
    pinned SMALLINT NOT NULL CHECK (pinned IN (0, 1)),
    confidence DOUBLE,
    run_id BIGINT,
    run_ordinal BIGINT,
    pin_reason TEXT,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    KEY node_state_by_validity (tenant_id, fleet_id, validity, id),
    KEY node_state_closed (tenant_id, fleet_id, valid_to, id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS node_content (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    payload LONGTEXT COMMENT 'canonical JSON (RFC 8785)',
    contract_hash TEXT,
    base_confidence DOUBLE NOT NULL CHECK (base_confidence BETWEEN 0 AND 1),
    expires_at BIGINT,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    KEY node_content_opened (tenant_id, fleet_id, valid_from, id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS edge (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    source_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    type SMALLINT NOT NULL CHECK (type BETWEEN 1 AND 7),
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    UNIQUE KEY edge_by_source (tenant_id, fleet_id, source_id, target_id, type),
    KEY edge_by_target (tenant_id, fleet_id, target_id, source_id, type),
    KEY edge_by_fleet (tenant_id, fleet_id, id),
    KEY edge_opened (tenant_id, fleet_id, valid_from, id),
    KEY edge_closed (tenant_id, fleet_id, valid_to, id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS evidence (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    uri TEXT NOT NULL,
    note TEXT,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    KEY evidence_by_node (tenant_id, fleet_id, node_id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- The closed versions by name, for what reads the history itself: changes and versions of a node.
-- An open version ends at the greatest timestamp that the server knows; those of no length are not shown.
CREATE OR REPLACE VIEW node_state_history AS
SELECT * FROM node_state FOR SYSTEM_TIME ALL WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

CREATE OR REPLACE VIEW node_content_history AS
SELECT * FROM node_content FOR SYSTEM_TIME ALL WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

CREATE OR REPLACE VIEW edge_history AS
SELECT * FROM edge FOR SYSTEM_TIME ALL WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

CREATE OR REPLACE VIEW evidence_history AS
SELECT * FROM evidence FOR SYSTEM_TIME ALL WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

CREATE TABLE IF NOT EXISTS run (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 2),
    root_id BIGINT NOT NULL,
    effect SMALLINT NOT NULL,
    reason TEXT NOT NULL,
    effective_at BIGINT NOT NULL,
    executed_at BIGINT NOT NULL,
    impact_count BIGINT NOT NULL,
    reverts_run_id BIGINT COMMENT 'the run that this one undoes',
    reverted_by_run_id BIGINT,
    reverted_at BIGINT,
    KEY run_by_fleet (tenant_id, fleet_id, id),
    KEY run_by_root (tenant_id, fleet_id, root_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- One row a raised node, ordered by (depth, node). cause is the ordinal of the causing impact in the same run;
-- origin_id names the cause when it has no impact itself. Paths are built on reading.
CREATE TABLE IF NOT EXISTS impact (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    kind SMALLINT NOT NULL CHECK (kind BETWEEN 1 AND 3),
    `before` SMALLINT NOT NULL,
    `after` SMALLINT NOT NULL,
    cause BIGINT,
    origin_id BIGINT,
    depth BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, run_id, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS outbox (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    `at` BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    type SMALLINT NOT NULL,
    node_id BIGINT,
    run_id BIGINT,
    run_ordinal BIGINT,
    detail LONGTEXT,
    PRIMARY KEY (tenant_id, fleet_id, `at`, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS idempotency (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    `key` VARCHAR(1000) NOT NULL,
    request_hash VARCHAR(64) NOT NULL,
    run_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    key_hash BINARY(32) AS (UNHEX(SHA2(`key`, 256))) PERSISTENT,
    UNIQUE KEY idempotency_by_key (tenant_id, fleet_id, key_hash),
    KEY idempotency_by_text (tenant_id, fleet_id, `key`(191))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
