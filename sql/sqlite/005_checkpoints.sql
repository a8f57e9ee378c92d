-- Procedural memory: executions, the chain of checkpoints of each, and the ledger of its steps.
-- Rows of checkpoint are facts: appended, never changed but for payloads that are erased, and removed only by a retention that leaves an anchor.
-- Whoever deletes an execution takes it out of the present; its name may then begin a new one.

INSERT INTO id_sequence (name, next_id) VALUES ('execution', 1);

CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    key TEXT NOT NULL,                  -- what callers name it by
    created_at INTEGER NOT NULL,
    deleted_at INTEGER,
    deleted_by TEXT,
    deletion_reason TEXT,
    purged_at INTEGER                   -- since when its rows are gone, too
) STRICT;
CREATE UNIQUE INDEX execution_present ON execution (tenant_id, fleet_id, key) WHERE deleted_at IS NULL;
CREATE INDEX execution_by_key ON execution (tenant_id, fleet_id, key, created_at);
CREATE INDEX execution_by_fleet ON execution (tenant_id, fleet_id, id);

-- codec: 0 payload is canonical JSON (RFC 8785), 1 the same deflated (zlib), and the CRC-32 of that. based_on: a JSON list of node ids, ascending.
-- Payload stands last: what is beside it is read without it.
CREATE TABLE checkpoint (
    execution_id INTEGER NOT NULL,      -- execution.id
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    committed_at INTEGER NOT NULL,
    session TEXT NOT NULL,
    state_node TEXT NOT NULL,
    schema_version TEXT NOT NULL,
    token TEXT NOT NULL,                -- of idempotency
    based_on TEXT NOT NULL,
    previous_hash TEXT,
    hash TEXT NOT NULL,
    erasure TEXT,                       -- stands for a payload that was erased: JSON, sealed
    codec INTEGER NOT NULL CHECK (codec IN (0, 1)),
    payload BLOB NOT NULL,
    PRIMARY KEY (execution_id, sequence)
) STRICT;
CREATE UNIQUE INDEX checkpoint_by_token ON checkpoint (execution_id, token);
CREATE INDEX checkpoint_by_fleet ON checkpoint (tenant_id, fleet_id, committed_at);

-- What a retention removed: every checkpoint up to a sequence, whose hash the chain goes on from. Signed off by who and why.
CREATE TABLE checkpoint_anchor (
    execution_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL CHECK (sequence > 0),
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    checkpoint_hash TEXT NOT NULL,      -- of the last one removed
    began_at INTEGER NOT NULL,          -- when the first of all was committed
    committed_at INTEGER NOT NULL,      -- when the last one removed was
    removed_at INTEGER NOT NULL,
    removed_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    previous_hash TEXT,                 -- of the anchor before
    hash TEXT NOT NULL,
    PRIMARY KEY (execution_id, sequence)
) STRICT, WITHOUT ROWID;

-- A step has an outcome once it has finished: 1 succeeded, 2 failed. sequence: the checkpoint it belongs to.
-- Each entry of the ledger has the next number of its execution, and a hash that binds it to the entry before: the one in
-- which a step is entered is its ordinal, the one in which it is finished later its finish_ordinal.
CREATE TABLE execution_step (
    execution_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal > 0),
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    key TEXT NOT NULL,                  -- of idempotency
    sequence INTEGER,
    name TEXT,
    worker TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome INTEGER CHECK (outcome BETWEEN 1 AND 2),
    previous_hash TEXT,
    hash TEXT NOT NULL,
    finish_ordinal INTEGER,
    finish_previous_hash TEXT,
    finish_hash TEXT,
    erasure TEXT,                       -- as that of a checkpoint, for a result
    codec INTEGER CHECK (codec IN (0, 1)),
    result BLOB,                        -- as a payload
    PRIMARY KEY (execution_id, ordinal)
) STRICT;
CREATE UNIQUE INDEX execution_step_by_key ON execution_step (execution_id, key);
CREATE INDEX execution_step_by_sequence ON execution_step (execution_id, sequence, ordinal);
CREATE UNIQUE INDEX execution_step_by_finish ON execution_step (execution_id, finish_ordinal) WHERE finish_ordinal IS NOT NULL;

CREATE TRIGGER checkpoint_update BEFORE UPDATE ON checkpoint
WHEN OLD.erasure IS NOT NULL OR NEW.erasure IS NULL OR length(NEW.payload) > 0
    OR (OLD.execution_id, OLD.sequence, OLD.tenant_id, OLD.fleet_id, OLD.committed_at, OLD.session, OLD.state_node)
        IS NOT (NEW.execution_id, NEW.sequence, NEW.tenant_id, NEW.fleet_id, NEW.committed_at, NEW.session, NEW.state_node)
    OR (OLD.schema_version, OLD.token, OLD.based_on, OLD.previous_hash, OLD.hash)
        IS NOT (NEW.schema_version, NEW.token, NEW.based_on, NEW.previous_hash, NEW.hash)
BEGIN SELECT RAISE(ABORT, 'a checkpoint is final'); END;
CREATE TRIGGER checkpoint_delete BEFORE DELETE ON checkpoint
WHEN NOT EXISTS (SELECT 1 FROM checkpoint_anchor WHERE execution_id = OLD.execution_id AND sequence >= OLD.sequence)
    AND NOT EXISTS (SELECT 1 FROM execution WHERE id = OLD.execution_id AND purged_at IS NOT NULL)
BEGIN SELECT RAISE(ABORT, 'a checkpoint is final'); END;
CREATE TRIGGER checkpoint_anchor_update BEFORE UPDATE ON checkpoint_anchor BEGIN SELECT RAISE(ABORT, 'an anchor is final'); END;
CREATE TRIGGER checkpoint_anchor_delete BEFORE DELETE ON checkpoint_anchor BEGIN SELECT RAISE(ABORT, 'an anchor is final'); END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('execution', 'execution_present', '10000 5000 5000 1'),
    ('execution', 'execution_by_key', '10000 5000 5000 1 1'),
    ('execution', 'execution_by_fleet', '10000 5000 5000 1'),
    ('checkpoint', 'sqlite_autoindex_checkpoint_1', '1000000 100 1'),
    ('checkpoint', 'checkpoint_by_token', '1000000 100 1'),
    ('checkpoint', 'checkpoint_by_fleet', '1000000 500000 500000 1'),
    ('checkpoint_anchor', 'checkpoint_anchor', '10000 10 1'),
    ('execution_step', 'sqlite_autoindex_execution_step_1', '1000000 100 1'),
    ('execution_step', 'execution_step_by_key', '1000000 100 1'),
    ('execution_step', 'execution_step_by_sequence', '1000000 100 4 1'),
    ('execution_step', 'execution_step_by_finish', '500000 50 1');
ANALYZE sqlite_schema;
