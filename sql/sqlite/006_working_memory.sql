-- What agents have in mind, a row a session; every update is a version of it.
-- session_hash is the hex SHA-256 of the session's name. state and evictions are JSON: the whole of the memory, and
-- what this version's update took out of it. tokens is what the rendered text came to when it was written.

INSERT INTO id_sequence (name, next_id) VALUES ('working_memory', 1);

CREATE TABLE working_memory (
    id INTEGER PRIMARY KEY,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    session_hash TEXT NOT NULL,
    session TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    state TEXT NOT NULL,
    evictions TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    valid_from INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX working_memory_by_session ON working_memory (tenant_id, fleet_id, session_hash);

CREATE TABLE working_memory_history (
    id INTEGER NOT NULL,
    valid_to INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    session_hash TEXT NOT NULL,
    session TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    evictions TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (id, valid_to, valid_from),
    CHECK (valid_from < valid_to)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER working_memory_history_update BEFORE UPDATE ON working_memory_history
BEGIN SELECT RAISE(ABORT, 'history is final'); END;
CREATE TRIGGER working_memory_history_delete BEFORE DELETE ON working_memory_history
BEGIN SELECT RAISE(ABORT, 'history is final'); END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('working_memory', 'working_memory_by_session', '10000 5000 5000 1'),
    ('working_memory_history', 'working_memory_history', '400000 40 1 1');
ANALYZE sqlite_schema;
