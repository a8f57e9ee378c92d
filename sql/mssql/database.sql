-- What a database needs besides its tables. Each statement is a batch of its own, outside of any transaction.

-- name: read_committed_snapshot
-- Readers take no locks and wait for no writer. Needs the database for itself for a moment.
ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE

-- name: allow_snapshot_isolation
-- One snapshot for the statements of an answer.
ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON

-- name: keep_retention
-- Restoring a database to a point in time turns this off, and history is kept for ever.
ALTER DATABASE CURRENT SET TEMPORAL_HISTORY_RETENTION ON

-- name: database_options
SELECT d.is_read_committed_snapshot_on AS ReadCommittedSnapshot,
       d.snapshot_isolation_state AS SnapshotIsolation,
       d.is_temporal_history_retention_enabled AS Retention,
       d.compatibility_level AS CompatibilityLevel
FROM sys.databases AS d
WHERE d.database_id = DB_ID()

-- name: lock_schema
-- Who migrates is alone.
SET NOCOUNT ON;
DECLARE @Granted INT;
EXEC @Granted = sys.sp_getapplock @Resource = N'Memory.SchemaMigration', @LockMode = N'Exclusive',
    @LockOwner = N'Session', @LockTimeout = :timeout_ms;
SELECT @Granted AS Granted

-- name: unlock_schema
DECLARE @Released INT;
EXEC @Released = sys.sp_releaseapplock @Resource = N'Memory.SchemaMigration', @LockOwner = N'Session';
SELECT @Released AS Released

-- name: has_ledger
SELECT CASE WHEN OBJECT_ID(N'Memory.SchemaMigration', N'U') IS NULL THEN 0 ELSE 1 END AS HasLedger,
       (SELECT COUNT_BIG(*) FROM sys.tables AS t WHERE t.is_ms_shipped = 0) AS Tables

-- name: applied_migrations
SELECT m.Number, m.Checksum FROM Memory.SchemaMigration AS m ORDER BY m.Number

-- name: record_migration
INSERT INTO Memory.SchemaMigration (Number, Name, Checksum, AppliedAt)
VALUES (:number, :name, :checksum, SYSUTCDATETIME())
