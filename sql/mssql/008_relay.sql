-- How far the outbox of a fleet has been dispatched: whoever relays it goes on behind this event. A relay that is new
-- to a fleet has no row; who enters it again is ignored.
CREATE TABLE Memory.RelayCursors (
    TenantId BIGINT NOT NULL,
    FleetId BIGINT NOT NULL,
    Name NVARCHAR(40) COLLATE Latin1_General_100_BIN2 NOT NULL,
    At DATETIME2(6) NOT NULL,
    Ordinal BIGINT NOT NULL,
    RowToken ROWVERSION NOT NULL,
    CONSTRAINT PK_RelayCursors PRIMARY KEY (TenantId, FleetId, Name) WITH (IGNORE_DUP_KEY = ON)
);
GO
ALTER SECURITY POLICY Memory.TenantPolicy
    ADD FILTER PREDICATE Memory.TenantPredicate(TenantId) ON Memory.RelayCursors,
    ADD BLOCK PREDICATE Memory.TenantPredicate(TenantId) ON Memory.RelayCursors;
