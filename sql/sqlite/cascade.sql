-- The set-based writes of a cascade, after its impacts were inserted.
-- Rows are visited in the order of node ids, so that the trees are walked once. The limit, which is
-- none, makes the planner keep that order: it drops one that can't change the result.

-- name: close_impacted_states
INSERT INTO node_state_history
    (id, tenant_id, fleet_id, validity, projected, pinned, confidence, run_id, run_ordinal,
     pin_reason, valid_from, valid_to)
SELECT s.id, s.tenant_id, s.fleet_id, s.validity, s.projected, s.pinned, s.confidence, s.run_id,
       s.run_ordinal, s.pin_reason, s.valid_from, :instant
FROM (
    SELECT node_id FROM impact
    WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id AND kind < 3
    ORDER BY node_id LIMIT -1
) AS i
CROSS JOIN node_state AS s ON s.id = i.node_id AND s.tenant_id = :tenant_id AND s.fleet_id = :fleet_id
WHERE s.valid_from < :instant

-- name: apply_impacts
UPDATE node_state
SET validity = CASE i.kind WHEN 1 THEN i.after ELSE node_state.validity END,
    projected = i.after,
    run_id = :run_id,
    run_ordinal = i.ordinal,
    valid_from = :instant
FROM (
    SELECT node_id, kind, after, ordinal FROM impact
    WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id AND kind < 3
    ORDER BY node_id LIMIT -1
) AS i
WHERE node_state.id = i.node_id
  AND node_state.tenant_id = :tenant_id AND node_state.fleet_id = :fleet_id

-- name: emit_impacts
-- An event of the impact's kind each.
INSERT INTO outbox (tenant_id, fleet_id, at, ordinal, type, node_id, run_id, run_ordinal, detail)
SELECT tenant_id, fleet_id, :instant, :first_ordinal + ordinal, kind, node_id, run_id, ordinal, NULL
FROM impact
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id
ORDER BY ordinal

-- name: emit_reversal
-- NODE_RESTORED where a revert made the node healthy; nothing where it only found another cause.
INSERT INTO outbox (tenant_id, fleet_id, at, ordinal, type, node_id, run_id, run_ordinal, detail)
SELECT tenant_id, fleet_id, :instant, :first_ordinal - 1 + ROW_NUMBER() OVER (ORDER BY ordinal),
       CASE WHEN after IN (1, 6) THEN 6 ELSE kind END, node_id, run_id, ordinal, NULL
FROM impact
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id
  AND (kind = 3 OR before <> after)
ORDER BY ordinal

-- name: load_graph_nodes
-- Whole columns as text: one row instead of a hundred thousand.
SELECT group_concat(s.id), group_concat(s.validity), group_concat(s.projected), group_concat(s.pinned)
FROM node AS n
CROSS JOIN node_state AS s ON s.id = n.id
WHERE n.tenant_id = :tenant_id AND n.fleet_id = :fleet_id

-- name: load_graph_edges
SELECT group_concat(source_id), group_concat(target_id), group_concat(type)
FROM edge
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id

-- name: load_graph_nodes_as_of
-- A row of columns for each place: the open versions, and the closed ones by one seek a node. The
-- seek can give a single value, so a state travels as three digits; it is computed once for all columns.
WITH past (id, state) AS MATERIALIZED (
    SELECT n.id, (
        SELECT CASE WHEN h.valid_from <= :instant
               THEN h.validity * 100 + h.projected * 10 + h.pinned END
        FROM node_state_history AS h
        WHERE h.id = n.id AND h.valid_to > :instant
        ORDER BY h.valid_to LIMIT 1
    )
    FROM node AS n
    WHERE n.tenant_id = :tenant_id AND n.fleet_id = :fleet_id
)
SELECT group_concat(s.id), group_concat(s.validity), group_concat(s.projected), group_concat(s.pinned)
FROM node AS n
CROSS JOIN node_state AS s ON s.id = n.id
WHERE n.tenant_id = :tenant_id AND n.fleet_id = :fleet_id AND s.valid_from <= :instant
UNION ALL
SELECT group_concat(id), group_concat(state / 100), group_concat(state / 10 % 10),
       group_concat(state % 10)
FROM past
WHERE state IS NOT NULL

-- name: load_graph_edges_as_of
-- The + keeps edges from being entered by valid_from, which would read them one by one, and makes
-- the history be entered by valid_to: the past that is asked for is mostly recent.
SELECT group_concat(source_id), group_concat(target_id), group_concat(type)
FROM edge
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND +valid_from <= :instant
UNION ALL
SELECT group_concat(source_id), group_concat(target_id), group_concat(type)
FROM edge_history
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND valid_to > :instant
  AND +valid_from <= :instant
