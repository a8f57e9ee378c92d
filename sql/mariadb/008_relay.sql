-- How far the outbox of a fleet has been dispatched: whoever relays it goes on behind this event. A relay that is new
-- to a fleet has no row.
CREATE TABLE IF NOT EXISTS relay_cursor (
    tenant_id BIGINT NOT NULL,
    fleet_id BIGINT NOT NULL,
    name VARCHAR(40) NOT NULL COMMENT 'of the relay',
    at BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, fleet_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
