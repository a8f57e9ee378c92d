"""Who may what: the roles that each operation of the schema takes."""

from __future__ import annotations

from collections.abc import Mapping

from retrograph.resolvers.scope import Role

Roles = frozenset[Role]

ANYBODY: Roles | None = None
"""Whoever proves who they are, in any role or none."""
READERS = frozenset(Role)
WRITERS = frozenset({Role.CONTROLLER, Role.ADMIN})
WORKERS = frozenset({Role.WORKER, Role.ADMIN})
ADMINS = frozenset({Role.ADMIN})

PERMISSIONS: Mapping[str, Roles | None] = {
    "Query.changes": READERS,
    "Query.checkpoint": READERS,
    "Query.checkpoints": READERS,
    "Query.decisions": READERS,
    "Query.edges": READERS,
    "Query.episodes": READERS,
    "Query.events": READERS,
    "Query.executions": READERS,
    "Query.invalidationRun": READERS,
    "Query.invalidationRuns": READERS,
    "Query.neighbourhood": READERS,
    "Query.node": READERS,
    "Query.nodes": READERS,
    "Query.paths": READERS,
    "Query.previewInvalidation": READERS,
    "Query.recall": READERS,
    "Query.revalidationTasks": READERS,
    "Query.scheduledInvalidations": READERS,
    "Query.steps": READERS,
    "Query.verifyCheckpoints": READERS,
    "Query.viewer": ANYBODY,
    "Query.workingMemory": READERS,
    "Mutation.addEvidence": WRITERS,
    "Mutation.cancelScheduledInvalidation": WRITERS,
    "Mutation.claimRevalidations": WORKERS,
    "Mutation.commitCheckpoint": WRITERS,
    "Mutation.completeRevalidation": WORKERS,
    "Mutation.deleteExecution": ADMINS,
    "Mutation.eraseCheckpoints": ADMINS,
    "Mutation.extendLease": WORKERS,
    "Mutation.invalidate": WRITERS,
    "Mutation.linkNodes": WRITERS,
    "Mutation.pinNode": WRITERS,
    "Mutation.promoteEpisode": WRITERS,
    "Mutation.putNodes": WRITERS,
    "Mutation.recordStep": WRITERS,
    "Mutation.relateEntities": WRITERS,
    "Mutation.repairNode": WRITERS,
    "Mutation.requeueRevalidation": WRITERS,
    "Mutation.retainCheckpoints": ADMINS,
    "Mutation.retireEpisodes": WRITERS,
    "Mutation.revertRun": WRITERS,
    "Mutation.rewindFleet": ADMINS,
    "Mutation.rollbackExecution": WRITERS,
    "Mutation.storeEpisode": WRITERS,
    "Mutation.supersede": WRITERS,
    "Mutation.unlinkNodes": WRITERS,
    "Mutation.updateWorkingMemory": WRITERS,
    "Subscription.events": READERS,
    "Subscription.snapshotThenChanges": READERS,
}
"""Any one of an operation's roles is enough. Every field of the three root types stands here; what
lies below them is read by whoever may ask them. Introspection is for anybody."""
