-- What agents have in mind, a row a session; every update is a version of it.
-- session_hash is the hex SHA-256 of the session's name. state and evictions are JSON: the whole of the memory, and
-- what this version's update took out of it. tokens is what the rendered text came to when it was written.

INSERT IGNORE INTO id_sequence (name, next_id) VALUES ('working_memory', 1);

CREATE TABLE IF NOT EXISTS working_memory (
    id BIGINT NOT NULL PRIMARY KEY,
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    session_hash VARCHAR(64) NOT NULL,
    session TEXT NOT NULL,
    version BIGINT NOT NULL CHECK (version > 0),
    state LONGTEXT NOT NULL,
    evictions LONGTEXT NOT NULL,
    tokens BIGINT NOT NULL,
    valid_from TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
    valid_to TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (valid_from, valid_to),
    UNIQUE KEY working_memory_by_session (tenant_id, fleet_id, session_hash)
) WITH SYSTEM VERSIONING ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

CREATE OR REPLACE VIEW working_memory_history AS
SELECT * FROM working_memory FOR SYSTEM_TIME ALL
WHERE valid_to < TIMESTAMP'2038-01-19 03:14:07' AND valid_from < valid_to;
