-- What an execution stood at then is found by one seek, however many checkpoints came since.
ALTER TABLE checkpoint
    DROP KEY IF EXISTS checkpoint_by_fleet,
    ADD KEY IF NOT EXISTS checkpoint_by_instant (execution_id, committed_at);
