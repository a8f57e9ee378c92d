-- The set-based statements of a cascade. Where the other engines close the former versions themselves, here
-- the server does.

-- name: invalidate
-- The whole run in one call (see Memory.InvalidateMemoryGraph); the seeds as JSON texts. Read to its last
-- result: an error that comes after rows is told only there.
EXEC Memory.InvalidateMemoryGraph @TenantId = :tenant_id, @FleetId = :fleet_id, @RunId = :run_id,
    @Roots = :roots, @Passing = :passing, @Touched = :touched, @FirstOrdinal = :first_ordinal,
    @Limit = :limit

-- name: apply_impacts
-- A run has one impact a node, so no row is met twice.
UPDATE n
SET Validity = CASE WHEN i.Kind = 1 THEN i.[After] ELSE n.Validity END,
    Projected = i.[After],
    RunId = i.RunId,
    RunOrdinal = i.Ordinal
FROM Memory.Nodes AS n
JOIN Memory.InvalidationImpact AS i ON i.NodeId = n.Id
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.RunId = :run_id AND i.Kind < 3

-- name: emit_impacts
-- An event of the impact's kind each.
INSERT INTO Memory.InvalidationOutbox
    (TenantId, FleetId, At, Ordinal, Type, NodeId, RunId, RunOrdinal)
SELECT i.TenantId, i.FleetId, :instant, :first_ordinal + i.Ordinal, i.Kind, i.NodeId, i.RunId, i.Ordinal
FROM Memory.InvalidationImpact AS i
WHERE i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.RunId = :run_id

-- name: emit_reversal
-- NODE_RESTORED where a revert made the node healthy; nothing where it only found another cause.
INSERT INTO Memory.InvalidationOutbox
    (TenantId, FleetId, At, Ordinal, Type, NodeId, RunId, RunOrdinal)
SELECT i.TenantId, i.FleetId, :instant, :first_ordinal - 1 + ROW_NUMBER() OVER (ORDER BY i.Ordinal),
       CASE WHEN i.[After] IN (1, 6) THEN 6 ELSE i.Kind END, i.NodeId, i.RunId, i.Ordinal
FROM Memory.InvalidationImpact AS i
WHERE i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.RunId = :run_id
  AND (i.Kind = 3 OR i.[Before] <> i.[After])

-- name: load_graph_nodes
-- Whole columns as text: one row instead of a hundred thousand. All of a row are in the same order.
SELECT STRING_AGG(CAST(n.Id AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Validity AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Projected AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Pinned AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id)
FROM Memory.Nodes AS n
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id

-- name: load_graph_edges
SELECT STRING_AGG(CAST(e.SourceId AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id),
       STRING_AGG(CAST(e.TargetId AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id),
       STRING_AGG(CAST(e.Type AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id)
FROM Memory.Edges AS e
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id

-- name: load_graph_nodes_as_of
DECLARE @Instant DATETIME2(6) = :instant;
SELECT STRING_AGG(CAST(n.Id AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Validity AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Projected AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id),
       STRING_AGG(CAST(n.Pinned AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY n.Id)
FROM Memory.Nodes FOR SYSTEM_TIME AS OF @Instant AS n
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id

-- name: load_graph_edges_as_of
DECLARE @Instant DATETIME2(6) = :instant;
SELECT STRING_AGG(CAST(e.SourceId AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id),
       STRING_AGG(CAST(e.TargetId AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id),
       STRING_AGG(CAST(e.Type AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY e.Id)
FROM Memory.Edges FOR SYSTEM_TIME AS OF @Instant AS e
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id
