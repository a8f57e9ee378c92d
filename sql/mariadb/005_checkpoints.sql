-- Procedural memory: executions, the chain of checkpoints of each, and the ledger of its steps.
-- Rows of checkpoint are facts: appended, never changed but for payloads that are erased, and removed only by a retention that leaves an anchor.
-- Whoever deletes an execution takes it out of the present; its name may then begin a new one.

INSERT IGNORE INTO id_sequence (name, next_id) VALUES ('execution', 1);

CREATE TABLE IF NOT EXISTS execution (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    `key` VARCHAR(1000) NOT NULL COMMENT 'what callers name it by',
    created_at BIGINT NOT NULL,
    deleted_at BIGINT,
    deleted_by TEXT,
    deletion_reason TEXT,
    purged_at BIGINT COMMENT 'since when its rows are gone, too',
    key_hash BINARY(32) AS (UNHEX(SHA2(`key`, 256))) PERSISTENT,
    KEY execution_by_key (tenant_id, fleet_id, key_hash, created_at),
    KEY execution_by_name (tenant_id, fleet_id, `key`(191)),
    KEY execution_by_fleet (tenant_id, fleet_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- codec: 0 payload is canonical JSON (RFC 8785), 1 the same deflated (zlib), and the CRC-32 of that. based_on: a JSON list of node ids, ascending.
CREATE TABLE IF NOT EXISTS checkpoint (
    execution_id BIGINT NOT NULL COMMENT 'execution.id',
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    session VARCHAR(1000) NOT NULL,
    state_node VARCHAR(1000) NOT NULL,
    schema_version VARCHAR(1000) NOT NULL,
    `token` VARCHAR(1000) NOT NULL COMMENT 'of idempotency',
    based_on LONGTEXT NOT NULL,
    previous_hash VARCHAR(64),
    hash VARCHAR(64) NOT NULL,
    erasure LONGTEXT COMMENT 'stands for a payload that was erased: JSON, sealed',
    codec SMALLINT NOT NULL CHECK (codec IN (0, 1)),
    payload LONGBLOB NOT NULL,
    key_hash BINARY(32) AS (UNHEX(SHA2(`token`, 256))) PERSISTENT,
    PRIMARY KEY (execution_id, sequence),
    UNIQUE KEY checkpoint_by_token (execution_id, key_hash),
    KEY checkpoint_by_fleet (tenant_id, fleet_id, committed_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- What a retention removed: every checkpoint up to a sequence, whose hash the chain goes on from. Signed off by who and why.
CREATE TABLE IF NOT EXISTS checkpoint_anchor (
    execution_id BIGINT NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence > 0),
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    checkpoint_hash VARCHAR(64) NOT NULL COMMENT 'of the last one removed',
    began_at BIGINT NOT NULL COMMENT 'when the first of all was committed',
    committed_at BIGINT NOT NULL COMMENT 'when the last one removed was',
    removed_at BIGINT NOT NULL,
    removed_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    previous_hash VARCHAR(64) COMMENT 'of the anchor before',
    hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (execution_id, sequence)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- A step has an outcome once it has finished: 1 succeeded, 2 failed. sequence: the checkpoint it belongs to.
-- Each entry of the ledger has the next number of its execution, and a hash that binds it to the entry before: the one in
-- which a step is entered is its ordinal, the one in which it is finished later its finish_ordinal.
CREATE TABLE IF NOT EXISTS execution_step (
    execution_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL CHECK (ordinal > 0),
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    `key` VARCHAR(1000) NOT NULL COMMENT 'of idempotency',
    sequence BIGINT,
    name VARCHAR(1000),
    worker VARCHAR(1000),
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    outcome SMALLINT CHECK (outcome BETWEEN 1 AND 2),
    previous_hash VARCHAR(64),
    hash VARCHAR(64) NOT NULL,
    finish_ordinal BIGINT,
    finish_previous_hash VARCHAR(64),
    finish_hash VARCHAR(64),
    erasure LONGTEXT COMMENT 'as that of a checkpoint, for a result',
    codec SMALLINT CHECK (codec IN (0, 1)),
    result LONGBLOB COMMENT 'as a payload',
    key_hash BINARY(32) AS (UNHEX(SHA2(`key`, 256))) PERSISTENT,
    PRIMARY KEY (execution_id, ordinal),
    UNIQUE KEY execution_step_by_key (execution_id, key_hash),
    UNIQUE KEY execution_step_by_finish (execution_id, finish_ordinal),
    KEY execution_step_by_name (execution_id, `key`(191)),
    KEY execution_step_by_sequence (execution_id, sequence, ordinal)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
