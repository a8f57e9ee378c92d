-- Procedural memory: executions, the chain of checkpoints of each, and the ledger of its steps.
-- Rows of Checkpoints are facts: appended, never changed but for payloads that are erased, and removed only by a
-- retention that leaves an anchor.
-- Whoever deletes an execution takes it out of the present; its name may then begin a new one. PurgedAt: since when
-- its rows are gone, too.

CREATE SEQUENCE Memory.ExecutionIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
GO
CREATE TABLE Memory.Executions (
    Id BIGINT NOT NULL CONSTRAINT PK_Executions PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    [Key] NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    DeletedAt DATETIME2(6) NULL,
    DeletedBy NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NULL,
    DeletionReason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    PurgedAt DATETIME2(6) NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', [Key]) AS BINARY(32)) PERSISTED,
    KeyStart AS LEFT([Key], 400) PERSISTED,
    RowToken ROWVERSION NOT NULL
);
CREATE INDEX IX_Executions_Key ON Memory.Executions (TenantId, FleetId, KeyHash, CreatedAt)
    INCLUDE ([Key], DeletedAt);
CREATE INDEX IX_Executions_Start ON Memory.Executions (TenantId, FleetId, KeyStart);
CREATE INDEX IX_Executions_Tenant_Fleet ON Memory.Executions (TenantId, FleetId, Id);
GO
-- Codec: 0 Payload is canonical JSON (RFC 8785) in UTF-8, 1 the same deflated (zlib), and the CRC-32 of that. BasedOn: a JSON list of node
-- ids, ascending. Token is of idempotency. Erasure stands for a payload, or a result, that was erased: JSON, sealed.
CREATE TABLE Memory.Checkpoints (
    ExecutionId BIGINT NOT NULL,
    Sequence BIGINT NOT NULL CONSTRAINT CK_Checkpoints_Sequence CHECK (Sequence > 0),
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    CommittedAt DATETIME2(6) NOT NULL,
    Session NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    StateNode NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    SchemaVersion NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Token NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    BasedOn NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    PreviousHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Hash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Erasure NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Codec SMALLINT NOT NULL CONSTRAINT CK_Checkpoints_Codec CHECK (Codec IN (0, 1)),
    Payload VARBINARY(MAX) NOT NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', Token) AS BINARY(32)) PERSISTED,
    CONSTRAINT PK_Checkpoints PRIMARY KEY (ExecutionId, Sequence)
);
CREATE UNIQUE INDEX IX_Checkpoints_Token ON Memory.Checkpoints (ExecutionId, KeyHash);
CREATE INDEX IX_Checkpoints_Tenant_Fleet ON Memory.Checkpoints (TenantId, FleetId, CommittedAt);
GO
-- What a retention removed: every checkpoint up to a sequence, whose hash (CheckpointHash) the chain goes on from.
-- BeganAt: when the first of all was committed; CommittedAt: when the last one removed was. PreviousHash is that of
-- the anchor before.
CREATE TABLE Memory.CheckpointAnchors (
    ExecutionId BIGINT NOT NULL,
    Sequence BIGINT NOT NULL CONSTRAINT CK_CheckpointAnchors_Sequence CHECK (Sequence > 0),
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    CheckpointHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    BeganAt DATETIME2(6) NOT NULL,
    CommittedAt DATETIME2(6) NOT NULL,
    RemovedAt DATETIME2(6) NOT NULL,
    RemovedBy NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Reason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    PreviousHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Hash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_CheckpointAnchors PRIMARY KEY (ExecutionId, Sequence)
);
GO
-- A step has an outcome once it has finished: 1 succeeded, 2 failed. Sequence: the checkpoint it belongs to. Result
-- is kept as a payload. Each entry of the ledger has the next number of its execution, and a hash that binds it to the
-- entry before: the one in which a step is entered is its Ordinal, the one in which it is finished later its
-- FinishOrdinal.
CREATE TABLE Memory.ExecutionSteps (
    ExecutionId BIGINT NOT NULL,
    Ordinal BIGINT NOT NULL CONSTRAINT CK_ExecutionSteps_Ordinal CHECK (Ordinal > 0),
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    [Key] NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Sequence BIGINT NULL,
    Name NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NULL,
    Worker NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NULL,
    StartedAt DATETIME2(6) NOT NULL,
    FinishedAt DATETIME2(6) NULL,
    Outcome SMALLINT NULL CONSTRAINT CK_ExecutionSteps_Outcome CHECK (Outcome BETWEEN 1 AND 2),
    PreviousHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Hash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    FinishOrdinal BIGINT NULL,
    FinishPreviousHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    FinishHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Erasure NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Codec SMALLINT NULL CONSTRAINT CK_ExecutionSteps_Codec CHECK (Codec IN (0, 1)),
    Result VARBINARY(MAX) NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', [Key]) AS BINARY(32)) PERSISTED,
    KeyStart AS LEFT([Key], 400) PERSISTED,
    RowToken ROWVERSION NOT NULL,
    CONSTRAINT PK_ExecutionSteps PRIMARY KEY (ExecutionId, Ordinal)
);
CREATE UNIQUE INDEX IX_ExecutionSteps_Key ON Memory.ExecutionSteps (ExecutionId, KeyHash);
CREATE INDEX IX_ExecutionSteps_Sequence ON Memory.ExecutionSteps (ExecutionId, Sequence, Ordinal);
CREATE INDEX IX_ExecutionSteps_Start ON Memory.ExecutionSteps (ExecutionId, KeyStart);
CREATE INDEX IX_ExecutionSteps_Finish ON Memory.ExecutionSteps (ExecutionId, FinishOrdinal) INCLUDE (FinishHash);
GO
ALTER SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Executions,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Executions,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Checkpoints,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Checkpoints,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.CheckpointAnchors,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.CheckpointAnchors,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.ExecutionSteps,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.ExecutionSteps;
