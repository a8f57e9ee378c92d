-- What an execution stood at then is found by one seek, however many checkpoints came since.
DROP INDEX checkpoint_by_fleet;
CREATE INDEX checkpoint_by_instant ON checkpoint (execution_id, committed_at);
DELETE FROM sqlite_stat1 WHERE idx = 'checkpoint_by_fleet';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('checkpoint', 'checkpoint_by_instant', '1000000 100 1');
ANALYZE sqlite_schema;
