-- The rounds of a cascade inside the database, so that no round needs a trip. They work on the temporary
-- tables that Memory.InvalidateMemoryGraph makes, and follow the laws of retrograph.rules to the letter:
-- every target becomes the worst of its own severity and of what its raised sources pass to it, all judged
-- on the severities of the round before, until nothing rises.
-- Severities: 0 healthy, 1 potentially stale, 2 definitely stale, 3 dead;
-- CHOOSE(validity, 0, 1, 2, 3, 3, 0) gives that of a validity. CHOOSE(type, 2, 3, 0, 0, 3, 2, 1) is the worst
-- that an edge type passes. The edge types: 1 DERIVED_FROM, 2 REQUIRES, 3 CONTRADICTS, 4 SUPERSEDES,
-- 5 VALID_ONLY_WHEN, 6 SUPPORTED_BY, 7 OBSERVED_FROM.
-- No UPDATE here meets a row twice: what is joined has one row a node, by its primary key.

-- What rises at once, and what sources that have not risen pass in the first round.
CREATE PROCEDURE Memory.CascadeSow
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    INSERT INTO #Raised (NodeId, Severity, Effect, Cause, CauseRose, Round)
    SELECT s.Id, CHOOSE(g.Effect, 0, 1, 2, 3, 3, 0), g.Effect, NULL, 0, 0
    FROM #Root AS g
    JOIN Memory.Nodes AS s ON s.Id = g.NodeId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    WHERE CHOOSE(g.Effect, 0, 1, 2, 3, 3, 0) > CHOOSE(s.Projected, 0, 1, 2, 3, 3, 0)
      AND NOT EXISTS (SELECT 1 FROM #Touched AS t WHERE t.NodeId = g.NodeId);

    -- Edges whose unhealthy source passes its severity on although the run did not raise it.
    INSERT INTO #Offer (TargetId, Effect, SourceId)
    SELECT p.TargetId, IIF(v.Ceiling < v.Severity, v.Ceiling, v.Severity), p.SourceId
    FROM #Passing AS p
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.SourceId = p.SourceId AND e.TargetId = p.TargetId AND e.Type = p.Type
    JOIN Memory.Nodes AS s ON s.Id = p.SourceId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    LEFT JOIN #Raised AS r ON r.NodeId = p.SourceId
    CROSS APPLY (VALUES (
        CHOOSE(p.Type, 2, 3, 0, 0, 3, 2, 1),
        COALESCE(r.Severity, CHOOSE(s.Projected, 0, 1, 2, 3, 3, 0))
    )) AS v (Ceiling, Severity)
    WHERE p.Type IN (1, 2, 5, 7) AND s.Projected IN (2, 3, 4, 5) AND p.SourceId <> p.TargetId;

    INSERT INTO #Judged (NodeId)
    SELECT DISTINCT p.TargetId
    FROM #Passing AS p
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.SourceId = p.SourceId AND e.TargetId = p.TargetId AND e.Type = p.Type
    JOIN Memory.Nodes AS s ON s.Id = p.SourceId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    WHERE p.Type = 6 AND s.Projected IN (2, 3, 4, 5) AND p.SourceId <> p.TargetId;

    -- Changed content passes 1 over every propagating edge, whatever other supporters there are.
    INSERT INTO #Offer (TargetId, Effect, SourceId)
    SELECT e.TargetId, 1, e.SourceId
    FROM #Touched AS t
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.SourceId = t.NodeId AND e.Type IN (1, 2, 5, 6, 7) AND e.SourceId <> e.TargetId;
END;
GO
-- A supporter stands if it is healthy and grounded (it has no supporters of its own, or is revalidated or
-- pinned), or one of its own supporters stands. Lets standing spread over what was just explored, the
-- supporters in a layer above 0, from the grounded and from those that are known to stand.
CREATE PROCEDURE Memory.CascadeSettle
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    TRUNCATE TABLE #Fresh;
    INSERT INTO #Fresh (NodeId)
    SELECT n.NodeId FROM #Support AS n WHERE n.Layer > 0 AND n.Healthy = 1 AND n.Ground = 1
    UNION
    SELECT n.NodeId
    FROM #Support AS n
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.TargetId = n.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
    JOIN #Support AS known ON known.NodeId = e.SourceId AND known.Layer = 0 AND known.Stands = 1
    WHERE n.Layer > 0 AND n.Healthy = 1;
    WHILE 1 = 1
    BEGIN
        UPDATE #Support SET Stands = 1 WHERE NodeId IN (SELECT f.NodeId FROM #Fresh AS f);
        IF @@ROWCOUNT = 0 BREAK;
        TRUNCATE TABLE #Next;
        INSERT INTO #Next (NodeId)
        SELECT DISTINCT n.NodeId
        FROM #Fresh AS f
        JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
            AND e.SourceId = f.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
        JOIN #Support AS n ON n.NodeId = e.TargetId
        WHERE n.Layer > 0 AND n.Healthy = 1 AND n.Stands = 0;
        TRUNCATE TABLE #Fresh;
        INSERT INTO #Fresh (NodeId) SELECT x.NodeId FROM #Next AS x;
    END;
END;
GO
-- Makes known whether the supporters of the judged stand, upstream down to grounds.
CREATE PROCEDURE Memory.CascadeExplore
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    DECLARE @Layer BIGINT = 0;
    UPDATE #Support SET Layer = 0 WHERE Layer <> 0;
    TRUNCATE TABLE #Next;
    INSERT INTO #Next (NodeId) SELECT j.NodeId FROM #Judged AS j;
    WHILE 1 = 1
    BEGIN
        SET @Layer += 1;
        INSERT INTO #Support (NodeId, Healthy, Ground, Stands, Layer)
        SELECT s.Id,
               IIF(r.NodeId IS NULL AND s.Projected IN (1, 6), 1, 0),
               CASE WHEN s.Projected = 6 OR s.Pinned = 1 OR NOT EXISTS (
                   SELECT 1
                   FROM Memory.Edges AS e
                   JOIN Memory.Nodes AS o ON o.Id = e.SourceId
                       AND o.TenantId = @TenantId AND o.FleetId = @FleetId
                   WHERE e.TenantId = @TenantId AND e.FleetId = @FleetId
                     AND e.TargetId = s.Id AND e.Type = 6 AND e.SourceId <> e.TargetId
               ) THEN 1 ELSE 0 END,
               0,
               @Layer
        FROM (
            SELECT DISTINCT e.SourceId
            FROM #Next AS x
            JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
                AND e.TargetId = x.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
            WHERE NOT EXISTS (SELECT 1 FROM #Support AS known WHERE known.NodeId = e.SourceId)
        ) AS f
        JOIN Memory.Nodes AS s ON s.Id = f.SourceId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
        LEFT JOIN #Raised AS r ON r.NodeId = s.Id;
        IF @@ROWCOUNT = 0 BREAK;
        TRUNCATE TABLE #Next;
        INSERT INTO #Next (NodeId)
        SELECT n.NodeId FROM #Support AS n WHERE n.Layer = @Layer AND n.Healthy = 1 AND n.Ground = 0;
    END;
    IF @Layer > 1 EXEC Memory.CascadeSettle @TenantId, @FleetId;
END;
GO
-- Offers to the targets of SUPPORTED_BY, by what is left of their supporters. Where one stands, a
-- potentially stale supporter passes nothing and a worse one passes 1; where none stands, the effect is the
-- least severity among all of them, at least 1 and at most 2.
CREATE PROCEDURE Memory.CascadeJudge
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    TRUNCATE TABLE #Verdict;
    INSERT INTO #Verdict (NodeId, Stands, Least)
    SELECT j.NodeId, MAX(n.Stands), MIN(v.Severity)
    FROM #Judged AS j
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.TargetId = j.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
    JOIN Memory.Nodes AS s ON s.Id = e.SourceId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    JOIN #Support AS n ON n.NodeId = e.SourceId
    LEFT JOIN #Raised AS r ON r.NodeId = e.SourceId
    CROSS APPLY (VALUES (COALESCE(r.Severity, CHOOSE(s.Projected, 0, 1, 2, 3, 3, 0)))) AS v (Severity)
    GROUP BY j.NodeId;

    INSERT INTO #Offer (TargetId, Effect, SourceId)
    SELECT t.NodeId, CASE WHEN t.Stands = 1 OR t.Least < 2 THEN 1 ELSE 2 END, e.SourceId
    FROM #Verdict AS t
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.TargetId = t.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
    JOIN Memory.Nodes AS s ON s.Id = e.SourceId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
    LEFT JOIN #Raised AS r ON r.NodeId = e.SourceId
    LEFT JOIN #Passing AS p ON p.TargetId = t.NodeId AND p.SourceId = e.SourceId AND p.Type = 6
    WHERE (r.NodeId IS NOT NULL OR (p.Type IS NOT NULL AND s.Projected IN (2, 3, 4, 5)))
      AND (t.Stands = 0 OR COALESCE(r.Severity, CHOOSE(s.Projected, 0, 1, 2, 3, 3, 0)) >= 2);
END;
GO
-- Takes standing from what rose in the round and from all that stood on nothing else, and has the targets
-- of whoever lost it judged again, where a supporter of theirs was raised or passes its severity on.
CREATE PROCEDURE Memory.CascadeUnsettle
    @TenantId BIGINT,
    @FleetId BIGINT,
    @Round BIGINT
AS
BEGIN
    DECLARE @Layer BIGINT = 0;
    TRUNCATE TABLE #Doubted;
    INSERT INTO #Doubted (NodeId, Layer)
    SELECT n.NodeId, 0
    FROM #Raised AS r
    JOIN #Support AS n ON n.NodeId = r.NodeId
    WHERE r.Round = @Round AND n.Stands = 1;
    WHILE @@ROWCOUNT > 0
    BEGIN
        SET @Layer += 1;
        INSERT INTO #Doubted (NodeId, Layer)
        SELECT DISTINCT n.NodeId, @Layer
        FROM #Doubted AS d
        JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
            AND e.SourceId = d.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
        JOIN #Support AS n ON n.NodeId = e.TargetId AND n.Stands = 1 AND n.Ground = 0
        WHERE d.Layer = @Layer - 1
          AND NOT EXISTS (SELECT 1 FROM #Doubted AS known WHERE known.NodeId = n.NodeId);
    END;
    IF @Layer > 0
    BEGIN
        EXEC Memory.CascadeFree @TenantId, @FleetId;
        UPDATE #Support SET Stands = 0 WHERE NodeId IN (SELECT d.NodeId FROM #Doubted AS d);
        INSERT INTO #Judged (NodeId)
        SELECT DISTINCT e.TargetId
        FROM #Doubted AS d
        JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
            AND e.SourceId = d.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
        WHERE NOT EXISTS (SELECT 1 FROM #Judged AS known WHERE known.NodeId = e.TargetId)
          AND (
            EXISTS (SELECT 1 FROM #Passing AS p WHERE p.TargetId = e.TargetId AND p.Type = 6)
            OR EXISTS (
                SELECT 1
                FROM Memory.Edges AS o
                JOIN #Raised AS r ON r.NodeId = o.SourceId
                WHERE o.TenantId = @TenantId AND o.FleetId = @FleetId
                  AND o.TargetId = e.TargetId AND o.Type = 6 AND o.SourceId <> o.TargetId
            )
          );
    END;
END;
GO
-- Frees of doubt who has a supporter that stands beyond doubt, and whom they support in turn.
CREATE PROCEDURE Memory.CascadeFree
    @TenantId BIGINT,
    @FleetId BIGINT
AS
BEGIN
    TRUNCATE TABLE #Fresh;
    INSERT INTO #Fresh (NodeId)
    SELECT DISTINCT d.NodeId
    FROM #Doubted AS d
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.TargetId = d.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
    JOIN #Support AS n ON n.NodeId = e.SourceId AND n.Stands = 1
    WHERE d.Layer > 0 AND NOT EXISTS (SELECT 1 FROM #Doubted AS o WHERE o.NodeId = n.NodeId);
    WHILE 1 = 1
    BEGIN
        DELETE FROM #Doubted WHERE NodeId IN (SELECT f.NodeId FROM #Fresh AS f);
        IF @@ROWCOUNT = 0 BREAK;
        TRUNCATE TABLE #Next;
        INSERT INTO #Next (NodeId)
        SELECT DISTINCT d.NodeId
        FROM #Fresh AS f
        JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
            AND e.SourceId = f.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
        JOIN #Doubted AS d ON d.NodeId = e.TargetId
        WHERE d.Layer > 0;
        TRUNCATE TABLE #Fresh;
        INSERT INTO #Fresh (NodeId) SELECT x.NodeId FROM #Next AS x;
    END;
END;
GO
-- What the nodes that rose in a round pass to their targets.
CREATE PROCEDURE Memory.CascadeOffer
    @TenantId BIGINT,
    @FleetId BIGINT,
    @Round BIGINT
AS
BEGIN
    INSERT INTO #Judged (NodeId)
    SELECT DISTINCT e.TargetId
    FROM #Raised AS r
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.SourceId = r.NodeId AND e.Type = 6 AND e.SourceId <> e.TargetId
    WHERE r.Round = @Round
      AND NOT EXISTS (SELECT 1 FROM #Judged AS known WHERE known.NodeId = e.TargetId);
    IF EXISTS (SELECT 1 FROM #Judged)
    BEGIN
        EXEC Memory.CascadeExplore @TenantId, @FleetId;
        EXEC Memory.CascadeJudge @TenantId, @FleetId;
        TRUNCATE TABLE #Judged;
    END;
    INSERT INTO #Offer (TargetId, Effect, SourceId)
    SELECT e.TargetId, IIF(v.Ceiling < r.Severity, v.Ceiling, r.Severity), r.NodeId
    FROM #Raised AS r
    JOIN Memory.Edges AS e ON e.TenantId = @TenantId AND e.FleetId = @FleetId
        AND e.SourceId = r.NodeId AND e.Type IN (1, 2, 5, 7) AND e.SourceId <> e.TargetId
    CROSS APPLY (VALUES (CHOOSE(e.Type, 2, 3, 0, 0, 3, 2, 1))) AS v (Ceiling)
    WHERE r.Round = @Round;
END;
GO
-- Round after round, down to the fixpoint. The cause of a node is the smallest source of the worst offer in
-- the round of its last rise. Raises 51001 as soon as more than @Limit nodes have risen.
CREATE PROCEDURE Memory.CascadeRounds
    @TenantId BIGINT,
    @FleetId BIGINT,
    @Limit BIGINT
AS
BEGIN
    DECLARE @Round BIGINT = 0;
    DECLARE @Total BIGINT = (SELECT COUNT_BIG(*) FROM #Raised);
    WHILE 1 = 1
    BEGIN
        EXEC Memory.CascadeOffer @TenantId, @FleetId, @Round;
        SET @Round += 1;
        TRUNCATE TABLE #Rise;
        WITH Ranked AS (
            SELECT o.TargetId, o.Effect, o.SourceId,
                   ROW_NUMBER() OVER (PARTITION BY o.TargetId ORDER BY o.Effect DESC, o.SourceId) AS Place
            FROM #Offer AS o
        )
        INSERT INTO #Rise (NodeId, Severity, Cause, CauseRose)
        SELECT b.TargetId, b.Effect, b.SourceId, IIF(c.NodeId IS NULL, 0, 1)
        FROM Ranked AS b
        JOIN Memory.Nodes AS s ON s.Id = b.TargetId AND s.TenantId = @TenantId AND s.FleetId = @FleetId
        LEFT JOIN #Raised AS r ON r.NodeId = b.TargetId
        LEFT JOIN #Raised AS c ON c.NodeId = b.SourceId
        WHERE b.Place = 1
          AND b.Effect > COALESCE(r.Severity, CHOOSE(s.Projected, 0, 1, 2, 3, 3, 0))
          AND NOT EXISTS (SELECT 1 FROM #Touched AS t WHERE t.NodeId = b.TargetId);
        IF @@ROWCOUNT = 0 BREAK;
        TRUNCATE TABLE #Offer;
        DELETE FROM #Raised WHERE NodeId IN (SELECT n.NodeId FROM #Rise AS n);
        SET @Total -= @@ROWCOUNT;
        INSERT INTO #Raised (NodeId, Severity, Effect, Cause, CauseRose, Round)
        SELECT n.NodeId, n.Severity, NULL, n.Cause, n.CauseRose, @Round FROM #Rise AS n;
        SET @Total += @@ROWCOUNT;
        IF @Total > @Limit
            THROW 51001, N'RUN_TOO_LARGE', 1;
        IF EXISTS (SELECT 1 FROM #Support)
            EXEC Memory.CascadeUnsettle @TenantId, @FleetId, @Round;
    END;
END;
