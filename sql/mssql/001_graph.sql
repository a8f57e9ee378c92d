-- The graph in the schema Memory: identities, system-versioned state, content, edges and evidence, and
-- what runs did. The server keeps the versions: it stamps a row with the instant its transaction began
-- and moves the former version to the History table; a version is visible at T when
-- ValidFrom <= T < ValidTo. A history table has exactly the columns of its table and no constraint.
-- Text is compared by code units. SQL Server pads the shorter of two texts with spaces to compare them,
-- so what must stay apart by a trailing space is told apart by a hash of its bytes.
-- Edges carry no foreign keys: the write path refuses broken ones, and reads never follow one.

CREATE SCHEMA Memory;
GO
CREATE TABLE Memory.SchemaMigration (
    Number SMALLINT NOT NULL CONSTRAINT PK_SchemaMigration PRIMARY KEY,
    Name NVARCHAR(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Checksum NCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    AppliedAt DATETIME2(6) NOT NULL
);
GO
CREATE SEQUENCE Memory.NodeIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.EdgeIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.EvidenceIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.RunIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
GO
-- A fleet and its clock: ValidFrom is the instant of the fleet's last committed write.
CREATE TABLE Memory.FleetsHistory (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_FleetsHistory ON Memory.FleetsHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_FleetsHistory_Fleet ON Memory.FleetsHistory
    (TenantId, FleetId, ValidTo, ValidFrom)
    INCLUDE (CreatedAt)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.Fleets (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_Fleets PRIMARY KEY (TenantId, FleetId)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.FleetsHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
GO
-- A key has at most 1,000 characters, each of one or two code units.
CREATE TABLE Memory.NodeIdentities (
    Id BIGINT NOT NULL CONSTRAINT PK_NodeIdentities PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    [Key] NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NULL,
    Kind SMALLINT NOT NULL CONSTRAINT CK_NodeIdentities_Kind CHECK (Kind BETWEEN 1 AND 2),
    CreatedAt DATETIME2(6) NOT NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', [Key]) AS BINARY(32)) PERSISTED
);
CREATE UNIQUE INDEX IX_NodeIdentities_Key ON Memory.NodeIdentities (TenantId, FleetId, KeyHash)
    INCLUDE ([Key]) WHERE [Key] IS NOT NULL;
CREATE INDEX IX_NodeIdentities_Tenant_Fleet ON Memory.NodeIdentities (TenantId, FleetId, Id);
GO
-- Narrow on purpose: a cascade rewrites these rows, never payloads.
-- Validity is what the node says; Projected is what cascades left on it (they differ only under a pin).
-- Confidence is NULL while the base confidence stands. RunId and RunOrdinal name the impact that gave
-- the state.
CREATE TABLE Memory.NodesHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Validity SMALLINT NOT NULL,
    Projected SMALLINT NOT NULL,
    Pinned SMALLINT NOT NULL,
    Confidence FLOAT(53) NULL,
    RunId BIGINT NULL,
    RunOrdinal BIGINT NULL,
    PinReason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_NodesHistory ON Memory.NodesHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_NodesHistory_Id ON Memory.NodesHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, Validity, Projected, Pinned, Confidence, RunId, RunOrdinal, PinReason)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_NodesHistory_Tenant_Fleet ON Memory.NodesHistory
    (TenantId, FleetId, ValidTo, ValidFrom)
    INCLUDE (Id, Validity, Projected, Pinned)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.Nodes (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Validity SMALLINT NOT NULL CONSTRAINT CK_Nodes_Validity CHECK (Validity BETWEEN 1 AND 6),
    Projected SMALLINT NOT NULL CONSTRAINT CK_Nodes_Projected CHECK (Projected BETWEEN 1 AND 6),
    Pinned SMALLINT NOT NULL CONSTRAINT CK_Nodes_Pinned CHECK (Pinned IN (0, 1)),
    Confidence FLOAT(53) NULL,
    RunId BIGINT NULL,
    RunOrdinal BIGINT NULL,
    PinReason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_Nodes PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.NodesHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE INDEX IX_Nodes_Tenant_Fleet ON Memory.Nodes (TenantId, FleetId, Id);
CREATE INDEX IX_Nodes_Unhealthy ON Memory.Nodes (TenantId, FleetId, Validity, Id)
    WHERE Validity IN (2, 3, 4, 5);
GO
-- Payload is canonical JSON (RFC 8785).
CREATE TABLE Memory.NodeContentsHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Payload NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    ContractHash NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    BaseConfidence FLOAT(53) NOT NULL,
    ExpiresAt DATETIME2(6) NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_NodeContentsHistory ON Memory.NodeContentsHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_NodeContentsHistory_Id ON Memory.NodeContentsHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, BaseConfidence, ExpiresAt)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_NodeContentsHistory_Tenant_Fleet ON Memory.NodeContentsHistory
    (TenantId, FleetId, ValidFrom, Id)
    INCLUDE (ValidTo)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.NodeContents (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Payload NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    ContractHash NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    BaseConfidence FLOAT(53) NOT NULL
        CONSTRAINT CK_NodeContents_BaseConfidence CHECK (BaseConfidence BETWEEN 0 AND 1),
    ExpiresAt DATETIME2(6) NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_NodeContents PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.NodeContentsHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE INDEX IX_NodeContents_Tenant_Fleet ON Memory.NodeContents (TenantId, FleetId, ValidFrom);
GO
-- Source is what is depended upon, target the dependent.
CREATE TABLE Memory.EdgesHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    SourceId BIGINT NOT NULL,
    TargetId BIGINT NOT NULL,
    Type SMALLINT NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_EdgesHistory ON Memory.EdgesHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EdgesHistory_Id ON Memory.EdgesHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, SourceId, TargetId, Type)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EdgesHistory_Source ON Memory.EdgesHistory
    (TenantId, FleetId, SourceId, ValidTo, ValidFrom)
    INCLUDE (TargetId, Type, Id)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EdgesHistory_Target ON Memory.EdgesHistory
    (TenantId, FleetId, TargetId, ValidTo, ValidFrom)
    INCLUDE (SourceId, Type, Id)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.Edges (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    SourceId BIGINT NOT NULL,
    TargetId BIGINT NOT NULL,
    Type SMALLINT NOT NULL CONSTRAINT CK_Edges_Type CHECK (Type BETWEEN 1 AND 7),
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_Edges PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.EdgesHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE UNIQUE INDEX IX_Edges_Source ON Memory.Edges (TenantId, FleetId, SourceId, TargetId, Type)
    INCLUDE (ValidFrom);
CREATE INDEX IX_Edges_Target ON Memory.Edges (TenantId, FleetId, TargetId, SourceId, Type)
    INCLUDE (ValidFrom);
CREATE INDEX IX_Edges_Tenant_Fleet ON Memory.Edges (TenantId, FleetId, ValidFrom);
GO
-- One URI hangs once on a node. The write path keeps that, under the fleet's lock: a URI is too long for
-- an index.
CREATE TABLE Memory.EvidenceHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    Uri NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_EvidenceHistory ON Memory.EvidenceHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EvidenceHistory_Id ON Memory.EvidenceHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, NodeId)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EvidenceHistory_Node ON Memory.EvidenceHistory
    (TenantId, FleetId, NodeId, ValidTo, ValidFrom)
    INCLUDE (Id)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.Evidence (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    Uri NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_Evidence PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.EvidenceHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE INDEX IX_Evidence_Node ON Memory.Evidence (TenantId, FleetId, NodeId, Id);
GO
CREATE TABLE Memory.InvalidationRun (
    Id BIGINT NOT NULL CONSTRAINT PK_InvalidationRun PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Status SMALLINT NOT NULL CONSTRAINT CK_InvalidationRun_Status CHECK (Status BETWEEN 1 AND 2),
    RootId BIGINT NOT NULL,
    Effect SMALLINT NOT NULL,
    Reason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    EffectiveAt DATETIME2(6) NOT NULL,
    ExecutedAt DATETIME2(6) NOT NULL,
    ImpactCount BIGINT NOT NULL,
    RevertsRunId BIGINT NULL,
    RevertedByRunId BIGINT NULL,
    RevertedAt DATETIME2(6) NULL,
    RowToken ROWVERSION NOT NULL
);
CREATE INDEX IX_InvalidationRun_Tenant_Fleet ON Memory.InvalidationRun (TenantId, FleetId, Id);
CREATE INDEX IX_InvalidationRun_Root ON Memory.InvalidationRun (TenantId, FleetId, RootId, Id);
GO
-- One row a raised node, ordered by (depth, node). Cause is the ordinal of the causing impact in the same
-- run; OriginId names the cause when it has no impact itself. Paths are built on reading.
CREATE TABLE Memory.InvalidationImpact (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    RunId BIGINT NOT NULL,
    Ordinal BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    Kind SMALLINT NOT NULL CONSTRAINT CK_InvalidationImpact_Kind CHECK (Kind BETWEEN 1 AND 3),
    [Before] SMALLINT NOT NULL,
    [After] SMALLINT NOT NULL,
    Cause BIGINT NULL,
    OriginId BIGINT NULL,
    Depth BIGINT NOT NULL,
    CONSTRAINT PK_InvalidationImpact PRIMARY KEY (TenantId, FleetId, RunId, Ordinal)
);
GO
-- In the order of the fleet's clock, not of an IDENTITY, whose order is not that of commits.
CREATE TABLE Memory.InvalidationOutbox (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    At DATETIME2(6) NOT NULL,
    Ordinal BIGINT NOT NULL,
    Type SMALLINT NOT NULL,
    NodeId BIGINT NULL,
    RunId BIGINT NULL,
    RunOrdinal BIGINT NULL,
    Detail NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Dispatched BIT NOT NULL CONSTRAINT DF_InvalidationOutbox_Dispatched DEFAULT (0),
    CONSTRAINT PK_InvalidationOutbox PRIMARY KEY (TenantId, FleetId, At, Ordinal)
);
CREATE INDEX IX_InvalidationOutbox_Pending ON Memory.InvalidationOutbox (TenantId, FleetId, At, Ordinal)
    WHERE Dispatched = 0;
GO
CREATE TABLE Memory.IdempotencyKeys (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    [Key] NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    RequestHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    RunId BIGINT NOT NULL,
    CreatedAt DATETIME2(6) NOT NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', [Key]) AS BINARY(32)) PERSISTED NOT NULL,
    CONSTRAINT PK_IdempotencyKeys PRIMARY KEY (TenantId, FleetId, KeyHash)
);
GO
-- A session sees and writes the rows of its own tenant alone, and none before it has named one.
-- A predicate on a table does not guard its history: every history table needs one of its own.
CREATE FUNCTION Memory.TenantPredicate (@TenantId BIGINT)
RETURNS TABLE
WITH SCHEMABINDING
AS
RETURN SELECT 1 AS Allowed WHERE @TenantId = CAST(SESSION_CONTEXT(N'TenantId') AS BIGINT);
GO
CREATE SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Fleets,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Fleets,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodeIdentities,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodeIdentities,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Nodes,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Nodes,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodeContents,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodeContents,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Edges,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Edges,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Evidence,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Evidence,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationRun,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationRun,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationImpact,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationImpact,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationOutbox,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.InvalidationOutbox,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.IdempotencyKeys,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.IdempotencyKeys,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.FleetsHistory,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodesHistory,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.NodeContentsHistory,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EdgesHistory,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EvidenceHistory
    WITH (STATE = ON, SCHEMABINDING = ON);
