-- What agents have in mind, a row a session; every update is a version of it.
-- SessionHash is the hex SHA-256 of the session's name. State and Evictions are JSON: the whole of the memory, and
-- what this version's update took out of it. Tokens is what the rendered text came to when it was written.

CREATE SEQUENCE Memory.WorkingMemoryIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
GO
CREATE TABLE Memory.WorkingMemoriesHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    SessionHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Session NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Version BIGINT NOT NULL,
    State NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Evictions NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tokens BIGINT NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_WorkingMemoriesHistory ON Memory.WorkingMemoriesHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_WorkingMemoriesHistory_Id ON Memory.WorkingMemoriesHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, SessionHash, Session, Version, Tokens)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.WorkingMemories (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    SessionHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Session NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Version BIGINT NOT NULL CONSTRAINT CK_WorkingMemories_Version CHECK (Version > 0),
    State NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Evictions NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Tokens BIGINT NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_WorkingMemories PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.WorkingMemoriesHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE UNIQUE INDEX IX_WorkingMemories_Session ON Memory.WorkingMemories (TenantId, FleetId, SessionHash);
GO
ALTER SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.WorkingMemories,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.WorkingMemories,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.WorkingMemoriesHistory;
