-- What must be judged again: tasks, the gates they wait behind, decisions; and runs that wait for their hour.
-- One open task a node. Status: 1 waiting, 2 ready, 3 leased, 4 backing off, 5 dead letter; closed from 6 on.
-- due_at is when a lease ends or a back-off is over. component_id names the strongly connected component of open
-- tasks that this one belongs to; a component without a gate is ready, or further. awaiting: opened by a
-- re-evaluation or a repair, so it stays open whatever the node's state.

INSERT IGNORE INTO id_sequence (name, next_id) VALUES ('task', 1), ('decision', 1), ('scheduled', 1);

CREATE TABLE IF NOT EXISTS task (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    run_id BIGINT COMMENT 'what opened it; NULL: an import, or a repair',
    run_ordinal BIGINT,
    opened_at BIGINT NOT NULL,
    awaiting SMALLINT NOT NULL CHECK (awaiting IN (0, 1)),
    priority BIGINT NOT NULL,
    component_id BIGINT NOT NULL,
    status SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 9),
    attempt BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT,
    leased_by TEXT,
    lease_token VARCHAR(64),
    claimed_at BIGINT,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    KEY task_by_node (tenant_id, fleet_id, node_id, id),
    KEY task_by_fleet (tenant_id, fleet_id, id),
    KEY task_by_priority (tenant_id, fleet_id, status, priority DESC, id),
    KEY task_due (tenant_id, fleet_id, status, due_at),
    KEY task_by_component (tenant_id, fleet_id, component_id),
    KEY task_closed (tenant_id, fleet_id, valid_to, id)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE OR REPLACE VIEW task_history AS
SELECT * FROM task FOR SYSTEM_TIME ALL WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;

-- How many edges lead into a component from open tasks outside of it; never 0.
CREATE TABLE IF NOT EXISTS task_gate (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    component_id BIGINT NOT NULL,
    blockers BIGINT NOT NULL CHECK (blockers > 0),
    PRIMARY KEY (tenant_id, fleet_id, component_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- kind: 1 verified, 2 refuted, 3 error, 4 restored by cut-off, 5 repaired.
CREATE TABLE IF NOT EXISTS decision (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    task_id BIGINT,
    node_id BIGINT NOT NULL,
    run_id BIGINT COMMENT 'the run that the decision started',
    `at` BIGINT NOT NULL,
    kind SMALLINT NOT NULL CHECK (kind BETWEEN 1 AND 5),
    unchanged SMALLINT NOT NULL CHECK (unchanged IN (0, 1)),
    confidence DOUBLE,
    evidence LONGTEXT COMMENT 'a JSON list of texts',
    note TEXT,
    decided_by TEXT,
    worker TEXT,
    attempt BIGINT NOT NULL,
    KEY decision_by_fleet (tenant_id, fleet_id, id),
    KEY decision_by_node (tenant_id, fleet_id, node_id, `at`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- Invalidations that wait for their hour; a sweeper runs them then. outcome: 1 executed, 2 failed, 3 cancelled.
CREATE TABLE IF NOT EXISTS scheduled_invalidation (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    node_id BIGINT NOT NULL,
    effect SMALLINT NOT NULL,
    reason TEXT NOT NULL,
    effective_at BIGINT NOT NULL,
    requested_at BIGINT NOT NULL,
    `key` VARCHAR(1000) COMMENT 'of idempotency',
    request_hash VARCHAR(64) NOT NULL,
    expected_plan TEXT,
    expected_version TEXT,
    outcome SMALLINT CHECK (outcome BETWEEN 1 AND 3),
    settled_at BIGINT,
    run_id BIGINT,
    failure_code VARCHAR(64),
    failure TEXT,
    key_hash BINARY(32) AS (UNHEX(SHA2(`key`, 256))) PERSISTENT,
    UNIQUE KEY scheduled_by_key (tenant_id, fleet_id, key_hash),
    KEY scheduled_by_fleet (tenant_id, fleet_id, id),
    KEY scheduled_due (tenant_id, fleet_id, outcome, effective_at, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE INDEX IF NOT EXISTS node_content_expiring ON node_content (tenant_id, fleet_id, expires_at, id);

-- Every tenant that has a fleet, for what looks after all of them; nothing else is told here.
CREATE TABLE IF NOT EXISTS tenant (
    tenant_id BIGINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

INSERT IGNORE INTO tenant (tenant_id) SELECT DISTINCT tenant_id FROM fleet;

-- Which process does a job that only one of many may do, and until when.
CREATE TABLE IF NOT EXISTS leadership (
    name VARCHAR(40) NOT NULL PRIMARY KEY,
    holder VARCHAR(64) NOT NULL,
    expires_at BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
