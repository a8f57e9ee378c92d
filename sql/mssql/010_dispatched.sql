-- How many events a relay has dispatched, each counted once. One that has begun with a fleet and not dispatched anything
-- stands before its first event, with 0.
ALTER TABLE Memory.RelayCursors ADD Dispatched BIGINT NOT NULL CONSTRAINT DF_RelayCursors_Dispatched DEFAULT 0;
