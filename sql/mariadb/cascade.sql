-- The set-based writes of a cascade, after its impacts were inserted, and whole graphs as text.
-- The engine keeps what is updated; every row takes the pinned timestamp of the transaction.

-- name: apply_impacts
UPDATE impact AS i
STRAIGHT_JOIN node_state AS s ON s.id = i.node_id AND s.tenant_id = :tenant_id AND s.fleet_id = :fleet_id
SET s.validity = CASE i.kind WHEN 1 THEN i.`after` ELSE s.validity END,
    s.projected = i.`after`,
    s.run_id = :run_id,
    s.run_ordinal = i.ordinal
WHERE i.tenant_id = :tenant_id AND i.fleet_id = :fleet_id AND i.run_id = :run_id AND i.kind < 3

-- name: emit_impacts
-- An event of the impact's kind each.
INSERT INTO outbox (tenant_id, fleet_id, `at`, ordinal, type, node_id, run_id, run_ordinal, detail)
SELECT tenant_id, fleet_id, :instant, :first_ordinal + ordinal, kind, node_id, run_id, ordinal, NULL
FROM impact
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id

-- name: emit_reversal
-- NODE_RESTORED where a revert made the node healthy; nothing where it only found another cause.
INSERT INTO outbox (tenant_id, fleet_id, `at`, ordinal, type, node_id, run_id, run_ordinal, detail)
SELECT tenant_id, fleet_id, :instant, :first_ordinal - 1 + ROW_NUMBER() OVER (ORDER BY ordinal),
       CASE WHEN `after` IN (1, 6) THEN 6 ELSE kind END, node_id, run_id, ordinal, NULL
FROM impact
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id AND run_id = :run_id
  AND (kind = 3 OR `before` <> `after`)

-- name: copy_impacts
-- What the procedures decided becomes the impacts of a run, without leaving the database.
INSERT INTO impact (tenant_id, fleet_id, run_id, ordinal, node_id, kind, `before`, `after`, cause,
                    origin_id, depth)
SELECT :tenant_id, :fleet_id, :run_id, ordinal, node_id, kind, before_validity, after_validity, cause,
       origin_id, depth
FROM cascade_impact
ORDER BY ordinal

-- name: load_graph_nodes
-- Whole columns as texts, each far below the 16 MB at which the server would cut it with no error.
SELECT GROUP_CONCAT(id), GROUP_CONCAT(validity), GROUP_CONCAT(projected), GROUP_CONCAT(pinned)
FROM node_state
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id
GROUP BY id DIV 100000

-- name: load_graph_edges
SELECT GROUP_CONCAT(source_id), GROUP_CONCAT(target_id), GROUP_CONCAT(type)
FROM edge
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id
GROUP BY id DIV 100000

-- name: load_graph_nodes_as_of
SELECT GROUP_CONCAT(id), GROUP_CONCAT(validity), GROUP_CONCAT(projected), GROUP_CONCAT(pinned)
FROM node_state FOR SYSTEM_TIME AS OF FROM_UNIXTIME(:instant * 0.000001)
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id
GROUP BY id DIV 100000

-- name: load_graph_edges_as_of
SELECT GROUP_CONCAT(source_id), GROUP_CONCAT(target_id), GROUP_CONCAT(type)
FROM edge FOR SYSTEM_TIME AS OF FROM_UNIXTIME(:instant * 0.000001)
WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id
GROUP BY id DIV 100000
