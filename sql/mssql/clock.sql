-- The clock recipe. The server stamps rows with the time of BEGIN TRANSACTION and no caller can choose it, so
-- a writer sees to it that this time is later than the fleet's last. In order, on an autocommit connection
-- with @@TRANCOUNT = 0, several fleets in the order of their ids:
--   set_tenant, lock_fleet (each fleet), wait_for_clock, begin, move_clocks;
--   where an Instant is not later than its Previous (or the server says 13535): rollback, and again from
--   wait_for_clock, a bounded number of times, then CLOCK_BEHIND;
--   the writes; commit; unlock_fleet (each fleet) on every path, or throw the connection away.
-- begin, commit and rollback take no parameters on purpose: with parameters a driver wraps a statement in a
-- call, and a call must end with as many transactions as it began with.
-- Instants are bound as DATETIME2(6), lists of ids as JSON arrays.

-- name: settle_session
-- Once a connection: what indexes on computed columns and filtered indexes need, whatever a driver sets; an
-- error ends the transaction; nobody waits for a lock for ever.
SET ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;
SET NUMERIC_ROUNDABORT OFF;
SET XACT_ABORT ON;
SET LOCK_TIMEOUT 10000

-- name: read_snapshots
-- Of a connection for reading: the clock and the data of one committed state.
SET TRANSACTION ISOLATION LEVEL SNAPSHOT

-- name: read_committed
-- Of a connection for writing, which sees what was committed before it had the fleet's lock.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED

-- name: set_tenant
-- At every check-out of a connection. Not read-only: that would bind the connection to the tenant for ever.
EXEC sys.sp_set_session_context @key = N'TenantId', @value = :tenant_id, @read_only = 0

-- name: clear_tenant
-- At every check-in, whatever was left open: a connection in the pool sees no rows at all.
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
EXEC sys.sp_set_session_context @key = N'TenantId', @value = NULL, @read_only = 0

-- name: lock_fleet
-- Granted is 0 or 1; negative where it was not: -1 timed out, -2 cancelled, -3 chosen as a deadlock's victim.
SET NOCOUNT ON;
DECLARE @Resource NVARCHAR(255) = CONCAT(N'Memory.Fleets/', :tenant_id, N'/', :fleet_id);
DECLARE @Granted INT;
EXEC @Granted = sys.sp_getapplock @Resource = @Resource, @LockMode = N'Exclusive',
    @LockOwner = N'Session', @LockTimeout = :timeout_ms;
SELECT @Granted AS Granted

-- name: unlock_fleet
SET NOCOUNT ON;
DECLARE @Resource NVARCHAR(255) = CONCAT(N'Memory.Fleets/', :tenant_id, N'/', :fleet_id);
DECLARE @Released INT;
EXEC @Released = sys.sp_releaseapplock @Resource = @Resource, @LockOwner = N'Session';
SELECT @Released AS Released

-- name: wait_for_clock
-- Waits, a bounded number of steps of a millisecond or more, until the present is past the fleets' clocks.
SET NOCOUNT ON;
DECLARE @Left BIGINT = :steps;
DECLARE @Clock DATETIME2(6) = (
    SELECT MAX(f.ValidFrom)
    FROM Memory.Fleets AS f
    WHERE f.TenantId = :tenant_id
      AND f.FleetId IN (SELECT CAST(j.value AS BIGINT) FROM OPENJSON(:fleet_ids) AS j)
);
WHILE @Left > 0 AND CAST(SYSUTCDATETIME() AS DATETIME2(6)) <= @Clock
BEGIN
    WAITFOR DELAY '00:00:00.001';
    SET @Left -= 1;
END;
SELECT @Clock AS Clock, IIF(CAST(SYSUTCDATETIME() AS DATETIME2(6)) <= @Clock, 0, 1) AS Passed

-- name: begin
BEGIN TRANSACTION

-- name: commit
COMMIT TRANSACTION

-- name: rollback
IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION

-- name: move_clocks
-- Nothing changes but the period, which is the clock: any update opens a new version, with the instant of
-- the transaction.
UPDATE Memory.Fleets
SET CreatedAt = CreatedAt
OUTPUT inserted.FleetId, deleted.ValidFrom AS Previous, inserted.ValidFrom AS Instant,
       inserted.CreatedAt AS Began
WHERE TenantId = :tenant_id
  AND FleetId IN (SELECT CAST(j.value AS BIGINT) FROM OPENJSON(:fleet_ids) AS j)

-- name: create_fleets
-- New fleets start their clocks with the transaction that makes them, so move_clocks leaves them out. Their
-- tenant may be in the directory already: its key ignores what is there.
SET NOCOUNT ON;
INSERT INTO Memory.Tenants (TenantId) VALUES (:tenant_id);
INSERT INTO Memory.Fleets (TenantId, FleetId, CreatedAt)
SELECT :tenant_id, CAST(j.value AS BIGINT), SYSUTCDATETIME() FROM OPENJSON(:fleet_ids) AS j;
UPDATE Memory.Fleets
SET CreatedAt = ValidFrom
OUTPUT inserted.FleetId, inserted.ValidFrom AS Instant
WHERE TenantId = :tenant_id
  AND FleetId IN (SELECT CAST(j.value AS BIGINT) FROM OPENJSON(:fleet_ids) AS j)

-- name: last_change
-- The last row token that was given out, and the least one of a transaction that is still open: a commit of
-- any tenant changes the former, and no tenant is told of another's rows.
SELECT CAST(@@DBTS AS BIGINT) AS LastToken, CAST(MIN_ACTIVE_ROWVERSION() AS BIGINT) AS LeastActive

-- name: take_ids
-- The first of as many ids in a row as are asked for, of one of the sequences (Memory.NodeIds and so on).
SET NOCOUNT ON;
DECLARE @First SQL_VARIANT;
EXEC sys.sp_sequence_get_range @sequence_name = :sequence, @range_size = :count,
    @range_first_value = @First OUTPUT;
SELECT CAST(@First AS BIGINT) AS FirstId
