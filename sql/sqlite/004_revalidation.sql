-- What must be judged again: tasks, the gates they wait behind, decisions; and runs that wait for their hour.
-- One open task a node. Status: 1 waiting, 2 ready, 3 leased, 4 backing off, 5 dead letter; closed from 6 on.
-- due_at is when a lease ends or a back-off is over. component_id names the strongly connected component of open
-- tasks that this one belongs to; a component without a gate is ready, or further. awaiting: opened by a
-- re-evaluation or a repair, so it stays open whatever the node's state.

INSERT INTO id_sequence (name, next_id) VALUES ('task', 1), ('decision', 1), ('scheduled', 1);

CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    run_id INTEGER,                     -- what opened it; NULL: an import, or a repair
    run_ordinal INTEGER,
    opened_at INTEGER NOT NULL,
    awaiting INTEGER NOT NULL CHECK (awaiting IN (0, 1)),
    priority INTEGER NOT NULL,
    component_id INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 1 AND 9),
    attempt INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER,
    leased_by TEXT,
    lease_token TEXT,
    claimed_at INTEGER,
    valid_from INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX task_open ON task (tenant_id, fleet_id, node_id) WHERE status <= 5;
CREATE INDEX task_by_fleet ON task (tenant_id, fleet_id, id);
-- Few of the open tasks are ready, and only these are claimed by their priority.
CREATE INDEX task_by_priority ON task (tenant_id, fleet_id, status, priority DESC, id) WHERE status = 2;
CREATE INDEX task_due ON task (tenant_id, fleet_id, status, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_by_component ON task (tenant_id, fleet_id, component_id) WHERE status <= 5;
CREATE INDEX task_by_node ON task (tenant_id, fleet_id, node_id, id);

CREATE TABLE task_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    run_id INTEGER,
    run_ordinal INTEGER,
    opened_at INTEGER NOT NULL,
    awaiting INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    component_id INTEGER NOT NULL,
    status INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    due_at INTEGER,
    leased_by TEXT,
    lease_token TEXT,
    claimed_at INTEGER,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_closed ON task_history (tenant_id, fleet_id, valid_to, id);
CREATE INDEX task_closed_by_node ON task_history (tenant_id, fleet_id, node_id, valid_to);

-- How many edges lead into a component from open tasks outside of it; never 0.
CREATE TABLE task_gate (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    component_id INTEGER NOT NULL,
    blockers INTEGER NOT NULL CHECK (blockers > 0),
    PRIMARY KEY (tenant_id, fleet_id, component_id)
) STRICT, WITHOUT ROWID;

-- kind: 1 verified, 2 refuted, 3 error, 4 restored by cut-off, 5 repaired.
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    task_id INTEGER,
    node_id INTEGER NOT NULL,
    run_id INTEGER,                     -- the run that the decision started
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 5),
    unchanged INTEGER NOT NULL CHECK (unchanged IN (0, 1)),
    confidence REAL,
    evidence TEXT,                      -- a JSON list of texts
    note TEXT,
    decided_by TEXT,
    worker TEXT,
    attempt INTEGER NOT NULL
) STRICT;
CREATE INDEX decision_by_fleet ON decision (tenant_id, fleet_id, id);
CREATE INDEX decision_by_node ON decision (tenant_id, fleet_id, node_id, at);

-- Invalidations that wait for their hour; a sweeper runs them then. outcome: 1 executed, 2 failed, 3 cancelled.
CREATE TABLE scheduled_invalidation (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    reason TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    key TEXT,                           -- of idempotency
    request_hash TEXT NOT NULL,
    expected_plan TEXT,
    expected_version TEXT,
    outcome INTEGER CHECK (outcome BETWEEN 1 AND 3),
    settled_at INTEGER,
    run_id INTEGER,
    failure_code TEXT,
    failure TEXT
) STRICT;
CREATE UNIQUE INDEX scheduled_by_key ON scheduled_invalidation (tenant_id, fleet_id, key) WHERE key IS NOT NULL;
CREATE INDEX scheduled_by_fleet ON scheduled_invalidation (tenant_id, fleet_id, id);
CREATE INDEX scheduled_due ON scheduled_invalidation (tenant_id, fleet_id, effective_at, id) WHERE outcome IS NULL;

CREATE INDEX node_content_expiring ON node_content (tenant_id, fleet_id, expires_at, id) WHERE expires_at IS NOT NULL;

-- Every tenant that has a fleet, for what looks after all of them; nothing else is told here.
CREATE TABLE tenant (
    tenant_id INTEGER NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

INSERT INTO tenant (tenant_id) SELECT DISTINCT tenant_id FROM fleet;

-- Which process does a job that only one of many may do, and until when.
CREATE TABLE leadership (
    name TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER task_history_update BEFORE UPDATE ON task_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER task_history_delete BEFORE DELETE ON task_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER decision_update BEFORE UPDATE ON decision BEGIN SELECT RAISE(ABORT, 'a decision is final'); END;
CREATE TRIGGER decision_delete BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'a decision is final'); END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('task', 'task_open', '100000 50000 50000 1'),
    ('task', 'task_by_fleet', '200000 100000 100000 1'),
    ('task', 'task_by_priority', '2000 1000 1000 1000 10 1'),
    ('task', 'task_due', '1000 500 500 300 1'),
    ('task', 'task_by_component', '100000 50000 50000 1'),
    ('task', 'task_by_node', '200000 100000 100000 2 1'),
    ('task_history', 'task_history', '400000 2 1 1'),
    ('task_history', 'task_closed', '400000 200000 200000 50 1'),
    ('task_history', 'task_closed_by_node', '400000 200000 200000 4 1'),
    ('task_gate', 'task_gate', '100000 50000 50000 1'),
    ('decision', 'decision_by_fleet', '200000 100000 100000 1'),
    ('decision', 'decision_by_node', '200000 100000 100000 2 1'),
    ('scheduled_invalidation', 'scheduled_by_key', '1000 500 500 1'),
    ('scheduled_invalidation', 'scheduled_by_fleet', '1000 500 500 1'),
    ('scheduled_invalidation', 'scheduled_due', '100 50 50 2 1'),
    ('node_content', 'node_content_expiring', '10000 5000 5000 2 1');
ANALYZE sqlite_schema;
