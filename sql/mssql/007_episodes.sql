-- What agents learned: episodes, their vectors, what became of them, how often they were used; and entities.
-- A name longer than an index's entry is found by the hex SHA-256 of it. An episode and its vector never change; its state is
-- versioned. NodeId is the node of the graph that says what the episode says. Reflection, Metadata, Entities, BasedOn
-- and Members (the ids of what an axiom merged) are JSON.

CREATE SEQUENCE Memory.DomainIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.EpisodeIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.RelationIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
GO
CREATE TABLE Memory.EpisodeDomains (
    Id BIGINT NOT NULL CONSTRAINT PK_EpisodeDomains PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NameHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Name NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Dimension BIGINT NOT NULL CONSTRAINT CK_EpisodeDomains_Dimension CHECK (Dimension BETWEEN 1 AND 4096),
    RowToken ROWVERSION NOT NULL
);
CREATE UNIQUE INDEX IX_EpisodeDomains_Name ON Memory.EpisodeDomains (TenantId, FleetId, NameHash);
GO
CREATE TABLE Memory.Episodes (
    Id BIGINT NOT NULL CONSTRAINT PK_Episodes PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    DomainId BIGINT NOT NULL,
    StoredAt DATETIME2(6) NOT NULL,
    Reflection NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    SchemaVersion NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Metadata NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Entities NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    BasedOn NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Members NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    NodeId BIGINT NULL,
    ExecutionKey NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    ExecutionHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Agent NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    AgentHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL
);
CREATE INDEX IX_Episodes_Tenant_Fleet ON Memory.Episodes (TenantId, FleetId, Id);
CREATE INDEX IX_Episodes_Domain ON Memory.Episodes (TenantId, FleetId, DomainId, Id);
CREATE INDEX IX_Episodes_Execution ON Memory.Episodes (TenantId, FleetId, ExecutionHash, Id)
    WHERE ExecutionHash IS NOT NULL;
CREATE INDEX IX_Episodes_Agent ON Memory.Episodes (TenantId, FleetId, AgentHash, Id) WHERE AgentHash IS NOT NULL;
GO
-- float32, little-endian.
CREATE TABLE Memory.EpisodeEmbeddings (
    EpisodeId BIGINT NOT NULL CONSTRAINT PK_EpisodeEmbeddings PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Vector VARBINARY(MAX) NOT NULL,
    RowToken ROWVERSION NOT NULL
);
GO
-- Status: 1 quarantined, 2 active, 3 retired, 4 merged into AxiomId. DecidedBy, Proof and Note tell who gave it this state, on
-- which terminal status of its task (NULL: a sign-off, or none was asked for), and why.
CREATE TABLE Memory.EpisodeStatesHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    DomainId BIGINT NOT NULL,
    Status SMALLINT NOT NULL,
    AxiomId BIGINT NULL,
    DecidedBy NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    Proof SMALLINT NULL,
    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_EpisodeStatesHistory ON Memory.EpisodeStatesHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EpisodeStatesHistory_Id ON Memory.EpisodeStatesHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, DomainId, Status, AxiomId, DecidedBy, Proof)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EpisodeStatesHistory_Domain ON Memory.EpisodeStatesHistory
    (TenantId, FleetId, DomainId, ValidTo, ValidFrom)
    INCLUDE (Id, Status)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.EpisodeStates (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    DomainId BIGINT NOT NULL,
    Status SMALLINT NOT NULL CONSTRAINT CK_EpisodeStates_Status CHECK (Status BETWEEN 1 AND 4),
    AxiomId BIGINT NULL,
    DecidedBy NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    Proof SMALLINT NULL,
    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_EpisodeStates PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.EpisodeStatesHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE INDEX IX_EpisodeStates_Change ON Memory.EpisodeStates (TenantId, FleetId, DomainId, ValidFrom)
    INCLUDE (Status);
GO
CREATE TABLE Memory.EpisodeUsesHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Uses BIGINT NOT NULL,
    LastUsedAt DATETIME2(6) NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_EpisodeUsesHistory ON Memory.EpisodeUsesHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_EpisodeUsesHistory_Id ON Memory.EpisodeUsesHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, Uses, LastUsedAt)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.EpisodeUses (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Uses BIGINT NOT NULL,
    LastUsedAt DATETIME2(6) NOT NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_EpisodeUses PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.EpisodeUsesHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
GO
-- Which episodes name an entity.
CREATE TABLE Memory.EpisodeEntities (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    EntityHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    EpisodeId BIGINT NOT NULL,
    RowToken ROWVERSION NOT NULL,
    CONSTRAINT PK_EpisodeEntities PRIMARY KEY (TenantId, FleetId, EntityHash, EpisodeId)
);
GO
-- Type: 1 caused by, 2 resolved with, 3 related to.
CREATE TABLE Memory.EntityRelations (
    Id BIGINT NOT NULL CONSTRAINT PK_EntityRelations PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    SourceHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    TargetHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Source NVARCHAR(1000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Target NVARCHAR(1000) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Type SMALLINT NOT NULL CONSTRAINT CK_EntityRelations_Type CHECK (Type BETWEEN 1 AND 3),
    RelatedAt DATETIME2(6) NOT NULL,
    RowToken ROWVERSION NOT NULL
);
CREATE UNIQUE INDEX IX_EntityRelations_Source ON Memory.EntityRelations (TenantId, FleetId, SourceHash, TargetHash, Type);
CREATE INDEX IX_EntityRelations_Target ON Memory.EntityRelations (TenantId, FleetId, TargetHash);
GO
ALTER SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeDomains,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeDomains,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Episodes,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Episodes,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeEmbeddings,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeEmbeddings,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeStates,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeStates,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeUses,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeUses,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeEntities,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeEntities,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EntityRelations,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EntityRelations,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeStatesHistory,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.EpisodeUsesHistory;
