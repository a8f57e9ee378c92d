-- How many events a relay has dispatched, each counted once. One that has begun with a fleet and not dispatched anything
-- stands before its first event, with 0.
ALTER TABLE relay_cursor ADD COLUMN IF NOT EXISTS dispatched BIGINT NOT NULL DEFAULT 0;
