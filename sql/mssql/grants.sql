-- The privileges of two roles in the database: one migrates, the other does the daily work of `serve`, `import`,
-- `export`, `invalidate` and `tail`, and can't change the schema, its procedures or its policy. Run by an
-- administrator in that database, once, before the first `retrograph migrate`; make your users members of them
-- (ALTER ROLE RetrographDaily ADD MEMBER …). The database should hold nothing else: the grants are on all of it.
-- Locks of applications, the session's context and temporary tables need no privilege.

CREATE ROLE RetrographOwner;
CREATE ROLE RetrographDaily;
GO
-- Whoever makes a schema owns it, and what is in it. ALTER on the database switches on row versions, snapshots
-- and retention.
GRANT ALTER, ALTER ANY SECURITY POLICY, CREATE SCHEMA, CREATE TABLE, CREATE PROCEDURE, CREATE FUNCTION,
      VIEW DEFINITION
TO RetrographOwner;
GO
-- UPDATE is also what drawing ids from a sequence asks for. No history can be written while it is kept.
GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE TO RetrographDaily;
