-- The privileges of two users: one migrates, the other does the daily work of `serve`, `import`, `export`,
-- `invalidate` and `tail`, and can't change the schema or the procedures. Run in the database by an
-- administrator, once; put in your own names. Both see no row of a tenant that their session has not named.

CREATE USER retrograph_owner FOR LOGIN retrograph_owner;
ALTER ROLE db_owner ADD MEMBER retrograph_owner;
GO
-- After the first `retrograph migrate`, which makes the schema.
CREATE USER retrograph FOR LOGIN retrograph;
GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON SCHEMA::Memory TO retrograph;
