-- How far the outbox of a fleet has been dispatched: whoever relays it goes on behind this event. A relay that is new
-- to a fleet has no row.
CREATE TABLE relay_cursor (
    tenant_id INTEGER NOT NULL,
    fleet_id INTEGER NOT NULL,
    name TEXT NOT NULL,                 -- of the relay
    at INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, name)
) STRICT, WITHOUT ROWID;
