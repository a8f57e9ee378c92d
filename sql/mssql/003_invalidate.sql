-- A run of a cascade as one call, inside the caller's transaction: seeds in, impacts out, states, impacts
-- and events written together or not at all.

-- The seeds as JSON texts: @Roots [[node id, effect], …], @Passing [[source id, target id, type], …],
-- @Touched [[node id], …]. Raises 51004 for a root or a touched node that is not in the fleet.
CREATE PROCEDURE Memory.CascadeSeed
    @TenantId BIGINT,
    @FleetId BIGINT,
    @Roots NVARCHAR(MAX),
    @Passing NVARCHAR(MAX),
    @Touched NVARCHAR(MAX)
AS
BEGIN
    INSERT INTO #Root (NodeId, Effect)
    SELECT g.NodeId, g.Effect
    FROM OPENJSON(@Roots) WITH (NodeId BIGINT '$[0]', Effect SMALLINT '$[1]') AS g;

    INSERT INTO #Passing (SourceId, TargetId, Type)
    SELECT DISTINCT p.SourceId, p.TargetId, p.Type
    FROM OPENJSON(@Passing)
    WITH (SourceId BIGINT '$[0]', TargetId BIGINT '$[1]', Type SMALLINT '$[2]') AS p;

    INSERT INTO #Touched (NodeId)
    SELECT DISTINCT t.NodeId
    FROM OPENJSON(@Touched) WITH (NodeId BIGINT '$[0]') AS t;

    IF EXISTS (
        SELECT n.NodeId
        FROM (SELECT g.NodeId FROM #Root AS g UNION ALL SELECT t.NodeId FROM #Touched AS t) AS n
        WHERE NOT EXISTS (
            SELECT 1 FROM Memory.Nodes AS s
            WHERE s.Id = n.NodeId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
        )
    )
        THROW 51004, N'NOT_FOUND', 1;
END;
GO
-- The chains of causes of what has risen, and of the INVALID roots that only become SUPERSEDED. A chain ends
-- at a node that is its own parent; where a source that had not risen was its cause, that is its origin, one
-- step further. Each pass doubles what a parent spans.
CREATE PROCEDURE Memory.CascadeChain
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    INSERT INTO #Chain (NodeId, Parent, Cause, OriginId, Depth, [After], Reevaluated)
    SELECT r.NodeId,
           IIF(r.CauseRose = 1, r.Cause, r.NodeId),
           IIF(r.CauseRose = 1, r.Cause, NULL),
           IIF(r.CauseRose = 1, NULL, r.Cause),
           r.CauseRose,
           COALESCE(r.Effect, r.Severity + 1),
           0
    FROM #Raised AS r;

    INSERT INTO #Chain (NodeId, Parent, Cause, OriginId, Depth, [After], Reevaluated)
    SELECT g.NodeId, g.NodeId, NULL, NULL, 0, g.Effect, 0
    FROM #Root AS g
    JOIN Memory.Nodes AS s ON s.Id = g.NodeId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    WHERE g.Effect = 5 AND s.Projected = 4
      AND NOT EXISTS (SELECT 1 FROM #Touched AS t WHERE t.NodeId = g.NodeId);

    WHILE 1 = 1
    BEGIN
        UPDATE c
        SET Parent = p.Parent, Depth = c.Depth + p.Depth
        FROM #Chain AS c
        JOIN #Chain AS p ON p.NodeId = c.Parent
        WHERE p.Parent <> p.NodeId;
        IF @@ROWCOUNT = 0 BREAK;
    END;
    UPDATE c
    SET Depth = c.Depth + 1
    FROM #Chain AS c
    JOIN #Chain AS p ON p.NodeId = c.Parent
    WHERE p.OriginId IS NOT NULL;
END;
GO
-- Adds whom the dead held down: the unhealthy targets, not raised themselves, of CONTRADICTS and SUPERSEDES
-- edges out of nodes that the run raised to severity 3; the nearest of those is the cause, among equals the
-- smallest.
CREATE PROCEDURE Memory.CascadeLift
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    WITH Held AS (
        SELECT e.TargetId, c.NodeId AS LifterId, c.Depth,
               ROW_NUMBER() OVER (PARTITION BY e.TargetId ORDER BY c.Depth, c.NodeId) AS Place
        FROM #Raised AS r
        JOIN #Chain AS c ON c.NodeId = r.NodeId
        JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
            AND e.SourceId = r.NodeId AND e.Type IN (3, 4) AND e.SourceId <> e.TargetId
        JOIN Memory.Nodes AS s ON s.Id = e.TargetId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
        WHERE r.Severity = 3 AND s.Projected IN (2, 3, 4, 5)
          AND NOT EXISTS (SELECT 1 FROM #Chain AS known WHERE known.NodeId = e.TargetId)
          AND NOT EXISTS (SELECT 1 FROM #Touched AS t WHERE t.NodeId = e.TargetId)
    )
    INSERT INTO #Chain (NodeId, Parent, Cause, OriginId, Depth, [After], Reevaluated)
    SELECT h.TargetId, h.TargetId, h.LifterId, NULL, h.Depth + 1, 0, 1
    FROM Held AS h
    WHERE h.Place = 1;
END;
GO
-- The impacts, one a node, ordered by (depth, node id). Raises 51001 where there are more than @Limit.
CREATE PROCEDURE Memory.CascadeOrder
    @TenantId BIGINT,
    @FleetId BIGINT,
    @Limit BIGINT
AS
BEGIN
    INSERT INTO #Impact (NodeId, Ordinal, Kind, [Before], [After], OriginId, Depth)
    SELECT c.NodeId,
           ROW_NUMBER() OVER (ORDER BY c.Depth, c.NodeId) - 1,
           CASE WHEN c.Reevaluated = 1 THEN 3 WHEN s.Pinned = 1 THEN 2 ELSE 1 END,
           s.Projected,
           IIF(c.Reevaluated = 1, s.Projected, c.[After]),
           c.OriginId,
           c.Depth
    FROM #Chain AS c
    JOIN Memory.Nodes AS s ON s.Id = c.NodeId AND s.TenantId = @TenantId AND s.FleetId = @FleetId;
    IF @@ROWCOUNT > @Limit
        THROW 51001, N'RUN_TOO_LARGE', 1;

    UPDATE i
    SET Cause = p.Ordinal
    FROM #Impact AS i
    JOIN #Chain AS c ON c.NodeId = i.NodeId
    JOIN #Impact AS p ON p.NodeId = c.Cause;
END;
GO
-- Writes states (one row a node), events and impacts, and hands the impacts out, in no particular order. The
-- instant is the one that the fleet's clock took in this transaction.
CREATE PROCEDURE Memory.CascadeWrite
    @TenantId BIGINT,
    @FleetId BIGINT,
    @RunId BIGINT,
    @FirstOrdinal BIGINT
AS
BEGIN
    DECLARE @At DATETIME2(6) = (
        SELECT f.ValidFrom FROM Memory.Fleets AS f WHERE f.TenantId = @TenantId AND f.FleetId = @FleetId
    );

    UPDATE n
    SET Validity = IIF(i.Kind = 1, i.[After], n.Validity),
        Projected = i.[After],
        RunId = @RunId,
        RunOrdinal = i.Ordinal
    FROM Memory.Nodes AS n
    JOIN #Impact AS i ON i.NodeId = n.Id
    WHERE n.TenantId = @TenantId AND n.FleetId = @FleetId AND i.Kind < 3;

    INSERT INTO Memory.InvalidationOutbox
        (TenantId, FleetId, At, Ordinal, Type, NodeId, RunId, RunOrdinal)
    SELECT @TenantId, @FleetId, @At, @FirstOrdinal + i.Ordinal, i.Kind, i.NodeId, @RunId, i.Ordinal
    FROM #Impact AS i;

    -- Last, so that whoever reads the result reads it of a run that is written.
    INSERT INTO Memory.InvalidationImpact
        (TenantId, FleetId, RunId, Ordinal, NodeId, Kind, [Before], [After], Cause, OriginId, Depth)
    OUTPUT inserted.Ordinal, inserted.NodeId, inserted.Kind, inserted.[Before], inserted.[After],
           inserted.Cause, inserted.OriginId, inserted.Depth
    SELECT @TenantId, @FleetId, @RunId, i.Ordinal, i.NodeId, i.Kind, i.[Before], i.[After],
           i.Cause, i.OriginId, i.Depth
    FROM #Impact AS i;
END;
GO
-- Runs a cascade from its seeds (see CascadeSeed) and returns its impacts as one result set; none at all
-- means that the run changes nothing. The caller holds the fleet's lock, has begun the transaction, has
-- moved the fleet's clock in it, and writes the row of the run itself. @FirstOrdinal is the place of the
-- run's first event among those of the transaction. Any error rolls the transaction back:
-- 51001 RUN_TOO_LARGE, 51003 NO_TRANSACTION, 51004 NOT_FOUND, or the server's own.
CREATE PROCEDURE Memory.InvalidateMemoryGraph
    @TenantId BIGINT,
    @FleetId BIGINT,
    @RunId BIGINT,
    @Roots NVARCHAR(MAX),
    @Passing NVARCHAR(MAX) = N'[]',
    @Touched NVARCHAR(MAX) = N'[]',
    @FirstOrdinal BIGINT = 0,
    @Limit BIGINT = 1000000
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    -- Seeds.
    CREATE TABLE #Root (NodeId BIGINT NOT NULL PRIMARY KEY, Effect SMALLINT NOT NULL);
    CREATE TABLE #Passing (
        TargetId BIGINT NOT NULL, SourceId BIGINT NOT NULL, Type SMALLINT NOT NULL,
        PRIMARY KEY (TargetId, SourceId, Type)
    );
    CREATE TABLE #Touched (NodeId BIGINT NOT NULL PRIMARY KEY);
    -- Rounds. Effect is what a root was given; Cause is NULL for a root; CauseRose: it had risen by then.
    CREATE TABLE #Raised (
        NodeId BIGINT NOT NULL PRIMARY KEY, Severity SMALLINT NOT NULL, Effect SMALLINT NULL,
        Cause BIGINT NULL, CauseRose SMALLINT NOT NULL, Round BIGINT NOT NULL,
        INDEX IX_Round (Round)
    );
    CREATE TABLE #Offer (
        TargetId BIGINT NOT NULL, Effect SMALLINT NOT NULL, SourceId BIGINT NOT NULL
    );
    CREATE TABLE #Rise (
        NodeId BIGINT NOT NULL PRIMARY KEY, Severity SMALLINT NOT NULL, Cause BIGINT NOT NULL,
        CauseRose SMALLINT NOT NULL
    );
    -- Supporters. Layer 0 is known from rounds before; #Next and #Fresh carry a walk from step to step.
    CREATE TABLE #Judged (NodeId BIGINT NOT NULL PRIMARY KEY);
    CREATE TABLE #Support (
        NodeId BIGINT NOT NULL PRIMARY KEY, Healthy SMALLINT NOT NULL, Ground SMALLINT NOT NULL,
        Stands SMALLINT NOT NULL, Layer BIGINT NOT NULL,
        INDEX IX_Layer (Layer)
    );
    CREATE TABLE #Verdict (
        NodeId BIGINT NOT NULL PRIMARY KEY, Stands SMALLINT NOT NULL, Least SMALLINT NOT NULL
    );
    CREATE TABLE #Doubted (NodeId BIGINT NOT NULL PRIMARY KEY, Layer BIGINT NOT NULL, INDEX IX_Layer (Layer));
    CREATE TABLE #Fresh (NodeId BIGINT NOT NULL PRIMARY KEY);
    CREATE TABLE #Next (NodeId BIGINT NOT NULL PRIMARY KEY);
    -- What came of it.
    CREATE TABLE #Chain (
        NodeId BIGINT NOT NULL PRIMARY KEY, Parent BIGINT NOT NULL, Cause BIGINT NULL,
        OriginId BIGINT NULL, Depth BIGINT NOT NULL, [After] SMALLINT NOT NULL,
        Reevaluated SMALLINT NOT NULL
    );
    CREATE TABLE #Impact (
        NodeId BIGINT NOT NULL PRIMARY KEY, Ordinal BIGINT NOT NULL, Kind SMALLINT NOT NULL,
        [Before] SMALLINT NOT NULL, [After] SMALLINT NOT NULL, Cause BIGINT NULL,
        OriginId BIGINT NULL, Depth BIGINT NOT NULL
    );
    BEGIN TRY
        IF @@TRANCOUNT = 0
            THROW 51003, N'NO_TRANSACTION', 1;
        EXEC Memory.CascadeSeed @TenantId, @FleetId, @Roots, @Passing, @Touched;
        EXEC Memory.CascadeSow @TenantId, @FleetId;
        EXEC Memory.CascadeRounds @TenantId, @FleetId, @Limit;
        EXEC Memory.CascadeChain @TenantId, @FleetId;
        EXEC Memory.CascadeLift @TenantId, @FleetId;
        EXEC Memory.CascadeOrder @TenantId, @FleetId, @Limit;
        EXEC Memory.CascadeWrite @TenantId, @FleetId, @RunId, @FirstOrdinal;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;
        THROW;
    END CATCH;
END;
