-- What an execution stood at then is found by one seek, however many checkpoints came since.
DROP INDEX IX_Checkpoints_Tenant_Fleet ON Memory.Checkpoints;
CREATE INDEX IX_Checkpoints_Instant ON Memory.Checkpoints (ExecutionId, CommittedAt);
