-- The privileges of two users on the database `retrograph`: one migrates, the other does the daily work of
-- `serve`, `import`, `export`, `invalidate` and `tail`, and can't change the schema or the procedures.
-- Run by an administrator, once; put in your own names.

GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE,
      EXECUTE, CREATE TEMPORARY TABLES
ON retrograph.* TO 'retrograph_owner'@'%';

GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE, CREATE TEMPORARY TABLES
ON retrograph.* TO 'retrograph'@'%';
