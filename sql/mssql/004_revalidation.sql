-- What must be judged again: tasks, the gates they wait behind, decisions; and runs that wait for their hour.
-- One open task a node. Status: 1 waiting, 2 ready, 3 leased, 4 backing off, 5 dead letter; closed from 6 on.
-- DueAt is when a lease ends or a back-off is over. ComponentId names the strongly connected component of open
-- tasks that this one belongs to; a component without a gate is ready, or further. Awaiting: opened by a
-- re-evaluation or a repair, so it stays open whatever the node's state. RunId is NULL for an import or a repair.
-- A filtered index serves a statement that repeats its condition with the number itself, not a parameter.

CREATE SEQUENCE Memory.TaskIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.DecisionIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
CREATE SEQUENCE Memory.ScheduledIds AS BIGINT START WITH 1 INCREMENT BY 1 NO CYCLE;
GO
-- A worker's name has at most 200 characters, each of one or two code units.
CREATE TABLE Memory.TasksHistory (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    RunId BIGINT NULL,
    RunOrdinal BIGINT NULL,
    OpenedAt DATETIME2(6) NOT NULL,
    Awaiting SMALLINT NOT NULL,
    Priority BIGINT NOT NULL,
    ComponentId BIGINT NOT NULL,
    Status SMALLINT NOT NULL,
    Attempt BIGINT NOT NULL,
    DueAt DATETIME2(6) NULL,
    LeasedBy NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    LeaseToken NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    ClaimedAt DATETIME2(6) NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) NOT NULL,
    ValidTo DATETIME2(6) NOT NULL
);
CREATE CLUSTERED INDEX CX_TasksHistory ON Memory.TasksHistory (ValidTo, ValidFrom)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_TasksHistory_Id ON Memory.TasksHistory
    (Id, ValidTo, ValidFrom)
    INCLUDE (TenantId, FleetId, NodeId, RunId, RunOrdinal, OpenedAt, Priority, Status, Attempt, DueAt,
             LeasedBy, LeaseToken, ClaimedAt)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_TasksHistory_Tenant_Fleet ON Memory.TasksHistory
    (TenantId, FleetId, ValidTo, ValidFrom)
    INCLUDE (Id, NodeId, Status)
    WITH (DATA_COMPRESSION = PAGE);
CREATE INDEX IX_TasksHistory_Node ON Memory.TasksHistory
    (TenantId, FleetId, NodeId, ValidTo, ValidFrom)
    INCLUDE (Id, Status)
    WITH (DATA_COMPRESSION = PAGE);
CREATE TABLE Memory.Tasks (
    Id BIGINT NOT NULL,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    RunId BIGINT NULL,
    RunOrdinal BIGINT NULL,
    OpenedAt DATETIME2(6) NOT NULL,
    Awaiting SMALLINT NOT NULL CONSTRAINT CK_Tasks_Awaiting CHECK (Awaiting IN (0, 1)),
    Priority BIGINT NOT NULL,
    ComponentId BIGINT NOT NULL,
    Status SMALLINT NOT NULL CONSTRAINT CK_Tasks_Status CHECK (Status BETWEEN 1 AND 9),
    Attempt BIGINT NOT NULL,
    DueAt DATETIME2(6) NULL,
    LeasedBy NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    LeaseToken NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    ClaimedAt DATETIME2(6) NULL,
    RowToken ROWVERSION NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_Tasks PRIMARY KEY (Id)
) WITH (SYSTEM_VERSIONING = ON (
    HISTORY_TABLE = Memory.TasksHistory,
    DATA_CONSISTENCY_CHECK = ON,
    HISTORY_RETENTION_PERIOD = 3 YEARS
));
CREATE UNIQUE INDEX IX_Tasks_Open ON Memory.Tasks (TenantId, FleetId, NodeId)
    INCLUDE (ComponentId, Status, Priority, Awaiting) WHERE Status <= 5;
CREATE INDEX IX_Tasks_Tenant_Fleet ON Memory.Tasks (TenantId, FleetId, Id);
CREATE INDEX IX_Tasks_Priority ON Memory.Tasks (TenantId, FleetId, Status, Priority DESC, Id)
    INCLUDE (NodeId, Attempt, ClaimedAt);
CREATE INDEX IX_Tasks_Due ON Memory.Tasks (TenantId, FleetId, Status, DueAt)
    WHERE DueAt IS NOT NULL;
CREATE INDEX IX_Tasks_Component ON Memory.Tasks (TenantId, FleetId, ComponentId)
    INCLUDE (NodeId, Status, Priority, Awaiting) WHERE Status <= 5;
CREATE INDEX IX_Tasks_Node ON Memory.Tasks (TenantId, FleetId, NodeId, Id);
GO
-- How many edges lead into a component from open tasks outside of it; never 0.
CREATE TABLE Memory.TaskGates (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    ComponentId BIGINT NOT NULL,
    Blockers BIGINT NOT NULL CONSTRAINT CK_TaskGates_Blockers CHECK (Blockers > 0),
    CONSTRAINT PK_TaskGates PRIMARY KEY (TenantId, FleetId, ComponentId)
);
GO
-- Kind: 1 verified, 2 refuted, 3 error, 4 restored by cut-off, 5 repaired. RunId is the run that the decision
-- started. Evidence is a JSON list of texts.
CREATE TABLE Memory.Decisions (
    Id BIGINT NOT NULL CONSTRAINT PK_Decisions PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    TaskId BIGINT NULL,
    NodeId BIGINT NOT NULL,
    RunId BIGINT NULL,
    At DATETIME2(6) NOT NULL,
    Kind SMALLINT NOT NULL CONSTRAINT CK_Decisions_Kind CHECK (Kind BETWEEN 1 AND 5),
    Unchanged SMALLINT NOT NULL CONSTRAINT CK_Decisions_Unchanged CHECK (Unchanged IN (0, 1)),
    Confidence FLOAT(53) NULL,
    Evidence NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Note NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    DecidedBy NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Worker NVARCHAR(400) COLLATE Latin1_General_100_BIN2 NULL,
    Attempt BIGINT NOT NULL,
    RowToken ROWVERSION NOT NULL
);
CREATE INDEX IX_Decisions_Tenant_Fleet ON Memory.Decisions (TenantId, FleetId, Id);
CREATE INDEX IX_Decisions_Node ON Memory.Decisions (TenantId, FleetId, NodeId, At);
GO
-- Invalidations that wait for their hour; a sweeper runs them then. Outcome: 1 executed, 2 failed, 3 cancelled.
CREATE TABLE Memory.ScheduledInvalidations (
    Id BIGINT NOT NULL CONSTRAINT PK_ScheduledInvalidations PRIMARY KEY,
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    NodeId BIGINT NOT NULL,
    Effect SMALLINT NOT NULL,
    Reason NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NOT NULL,
    EffectiveAt DATETIME2(6) NOT NULL,
    RequestedAt DATETIME2(6) NOT NULL,
    [Key] NVARCHAR(2000) COLLATE Latin1_General_100_BIN2 NULL,
    RequestHash NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    ExpectedPlan NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    ExpectedVersion NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    Outcome SMALLINT NULL CONSTRAINT CK_ScheduledInvalidations_Outcome CHECK (Outcome BETWEEN 1 AND 3),
    SettledAt DATETIME2(6) NULL,
    RunId BIGINT NULL,
    FailureCode NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NULL,
    Failure NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL,
    KeyHash AS CAST(HASHBYTES('SHA2_256', [Key]) AS BINARY(32)) PERSISTED,
    RowToken ROWVERSION NOT NULL
);
CREATE UNIQUE INDEX IX_ScheduledInvalidations_Key ON Memory.ScheduledInvalidations (TenantId, FleetId, KeyHash)
    INCLUDE ([Key]) WHERE [Key] IS NOT NULL;
CREATE INDEX IX_ScheduledInvalidations_Tenant_Fleet ON Memory.ScheduledInvalidations (TenantId, FleetId, Id);
CREATE INDEX IX_ScheduledInvalidations_Due ON Memory.ScheduledInvalidations
    (TenantId, FleetId, EffectiveAt, Id) WHERE Outcome IS NULL;
CREATE INDEX IX_NodeContents_Expiring ON Memory.NodeContents (TenantId, FleetId, ExpiresAt, Id)
    WHERE ExpiresAt IS NOT NULL;
GO
-- Every tenant that has a fleet, for what looks after all of them: no session sees another's fleets. Nothing
-- else is told here, so no policy guards it. A tenant that is entered again is ignored.
CREATE TABLE Memory.Tenants (
    TenantId BIGINT NOT NULL CONSTRAINT PK_Tenants PRIMARY KEY WITH (IGNORE_DUP_KEY = ON)
);
GO
-- Which process does a job that only one of many may do, and until when. Who enters it again is ignored.
CREATE TABLE Memory.Leadership (
    Name NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NOT NULL
        CONSTRAINT PK_Leadership PRIMARY KEY WITH (IGNORE_DUP_KEY = ON),
    Holder NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL,
    ExpiresAt DATETIME2(6) NOT NULL
);
GO
ALTER SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Tasks,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Tasks,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.TaskGates,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.TaskGates,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Decisions,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.Decisions,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.ScheduledInvalidations,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.ScheduledInvalidations,
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.TasksHistory;
