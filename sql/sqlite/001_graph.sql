-- The graph: identities, system-versioned state, content, edges and evidence, and what runs did.
-- Instants are UTC microseconds. A version is visible at T when valid_from <= T < valid_to.
-- Every current table holds the open versions; its _history table holds the closed ones, with the
-- columns of its key first (else some versions of SQLite take sound rows for damaged ones).
-- Edges carry no foreign keys: the write path refuses broken ones, and reads never follow one.

CREATE TABLE fleet (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    clock INTEGER NOT NULL,             -- the instant of the last committed write
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE id_sequence (
    name TEXT NOT NULL PRIMARY KEY,
    next_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO id_sequence (name, next_id) VALUES ('node', 1), ('edge', 1), ('evidence', 1), ('run', 1);

CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    key TEXT,
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 2),
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX node_by_key ON node (tenant_id, fleet_id, key) WHERE key IS NOT NULL;
CREATE INDEX node_by_fleet ON node (tenant_id, fleet_id, id);

-- Narrow on purpose: a cascade rewrites these rows, never payloads.
-- validity is what the node says; projected is what cascades left on it (they differ only under a pin).
-- confidence is NULL while the base confidence stands. run_id and run_ordinal name the impact that gave the state.
CREATE TABLE node_state (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    validity INTEGER NOT NULL CHECK (validity BETWEEN 1 AND 6),
    projected INTEGER NOT NULL CHECK (projected BETWEEN 1 AND 6),
    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    confidence REAL,
    run_id INTEGER,
    run_ordinal INTEGER,
    pin_reason TEXT,
    valid_from INTEGER NOT NULL
) STRICT;
-- Each alternative by itself is a way in: one validity (a literal) gives its ids in order.
CREATE INDEX node_state_unhealthy ON node_state (tenant_id, fleet_id, validity, id)
    WHERE validity = 2 OR validity = 3 OR validity = 4 OR validity = 5;

CREATE TABLE node_state_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    validity INTEGER NOT NULL,
    projected INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    confidence REAL,
    run_id INTEGER,
    run_ordinal INTEGER,
    pin_reason TEXT,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_state_closed ON node_state_history (tenant_id, fleet_id, valid_to, id);

CREATE TABLE node_content (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    payload TEXT,                       -- canonical JSON (RFC 8785)
    contract_hash TEXT,
    base_confidence REAL NOT NULL CHECK (base_confidence BETWEEN 0 AND 1),
    expires_at INTEGER,
    valid_from INTEGER NOT NULL
) STRICT;
CREATE INDEX node_content_opened ON node_content (tenant_id, fleet_id, valid_from);

CREATE TABLE node_content_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    payload TEXT,
    contract_hash TEXT,
    base_confidence REAL NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_content_history_opened ON node_content_history (tenant_id, fleet_id, valid_from, id);

CREATE TABLE edge (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    target_id INTEGER NOT NULL,
    type INTEGER NOT NULL CHECK (type BETWEEN 1 AND 7),
    valid_from INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX edge_by_source ON edge (tenant_id, fleet_id, source_id, target_id, type);
-- valid_from lets a whole graph of the past be read from this index alone.
CREATE INDEX edge_by_target ON edge (tenant_id, fleet_id, target_id, source_id, type, valid_from);
CREATE INDEX edge_by_fleet ON edge (tenant_id, fleet_id, id);
CREATE INDEX edge_by_creation ON edge (tenant_id, fleet_id, valid_from);

CREATE TABLE edge_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    target_id INTEGER NOT NULL,
    type INTEGER NOT NULL,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_closed_by_source ON edge_history (tenant_id, fleet_id, source_id, valid_to, valid_from, target_id, type);
CREATE INDEX edge_closed_by_target ON edge_history (tenant_id, fleet_id, target_id, valid_to, valid_from, source_id, type);
CREATE INDEX edge_closed ON edge_history (tenant_id, fleet_id, valid_to, id);
CREATE INDEX edge_opened ON edge_history (tenant_id, fleet_id, valid_from, id);

CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    uri TEXT NOT NULL,
    note TEXT,
    valid_from INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX evidence_by_node ON evidence (tenant_id, fleet_id, node_id, uri);

CREATE TABLE evidence_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    uri TEXT NOT NULL,
    note TEXT,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_closed_by_node ON evidence_history (tenant_id, fleet_id, node_id, valid_to);

CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 1 AND 2),   -- as it was executed
    root_id INTEGER NOT NULL,
    effect INTEGER NOT NULL,
    reason TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    executed_at INTEGER NOT NULL,
    impact_count INTEGER NOT NULL,
    reverts_run_id INTEGER,                                   -- the run that this one undoes
    reverted_by_run_id INTEGER,
    reverted_at INTEGER
) STRICT;
CREATE INDEX run_by_fleet ON run (tenant_id, fleet_id, id);
CREATE INDEX run_by_root ON run (tenant_id, fleet_id, root_id, id);

-- One row a raised node, ordered by (depth, node). cause is the ordinal of the causing impact in the same run;
-- origin_id names the cause when it has no impact itself. Paths are built on reading.
CREATE TABLE impact (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    node_id INTEGER NOT NULL,
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),
    before INTEGER NOT NULL,
    after INTEGER NOT NULL,
    cause INTEGER,
    origin_id INTEGER,
    depth INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    type INTEGER NOT NULL,
    node_id INTEGER,
    run_id INTEGER,
    run_ordinal INTEGER,
    detail TEXT,
    PRIMARY KEY (tenant_id, fleet_id, at, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    run_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, key)
) STRICT, WITHOUT ROWID;

-- Guards: the past is final, whoever writes.
CREATE TRIGGER node_state_history_update BEFORE UPDATE ON node_state_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER node_state_history_delete BEFORE DELETE ON node_state_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER node_content_history_update BEFORE UPDATE ON node_content_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER node_content_history_delete BEFORE DELETE ON node_content_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER edge_history_update BEFORE UPDATE ON edge_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER edge_history_delete BEFORE DELETE ON edge_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER evidence_history_update BEFORE UPDATE ON evidence_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER evidence_history_delete BEFORE DELETE ON evidence_history BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER node_identity_update BEFORE UPDATE ON node BEGIN SELECT RAISE(ABORT, 'a node''s identity is final'); END;

-- What the planner is to believe of every file, large or small; without, it takes a whole fleet for ten rows.
-- The rows of a table, then how many of them share the first column of the index, the first two, and so on.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('node', 'node_by_key', '100000 50000 50000 1'),
    ('node', 'node_by_fleet', '100000 50000 50000 1'),
    ('node_state', NULL, '100000'),
    ('node_state', 'node_state_unhealthy', '20000 10000 10000 5000 1'),
    ('node_state_history', 'node_state_history', '2000000 20 1 1'),
    ('node_state_history', 'node_state_closed', '2000000 1000000 1000000 100 1'),
    ('node_content', 'node_content_opened', '100000 50000 50000 50'),
    ('node_content_history', 'node_content_history', '200000 2 1 1'),
    ('node_content_history', 'node_content_history_opened', '200000 100000 100000 50 1'),
    ('edge', 'edge_by_source', '400000 200000 200000 4 1 1'),
    ('edge', 'edge_by_target', '400000 200000 200000 4 1 1 1'),
    ('edge', 'edge_by_fleet', '400000 200000 200000 1'),
    ('edge', 'edge_by_creation', '400000 200000 200000 50'),
    ('edge_history', 'edge_history', '400000 2 1 1'),
    ('edge_history', 'edge_closed_by_source', '400000 200000 200000 4 2 2 1'),
    ('edge_history', 'edge_closed_by_target', '400000 200000 200000 4 2 2 1'),
    ('edge_history', 'edge_closed', '400000 200000 200000 50 1'),
    ('edge_history', 'edge_opened', '400000 200000 200000 50 1'),
    ('evidence', 'evidence_by_node', '100000 50000 50000 2 1'),
    ('evidence_history', 'evidence_history', '100000 2 1 1'),
    ('evidence_history', 'evidence_closed_by_node', '100000 50000 50000 2 1'),
    ('run', 'run_by_fleet', '10000 5000 5000 1'),
    ('run', 'run_by_root', '10000 5000 5000 2 1'),
    ('impact', 'impact', '10000000 5000000 5000000 1000 1'),
    ('outbox', 'outbox', '10000000 5000000 5000000 100 1'),
    ('idempotency', 'idempotency', '10000 5000 5000 1');
