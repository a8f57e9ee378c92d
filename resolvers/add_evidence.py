"""`addEvidence`: hangs a URI with a note on a node."""

from __future__ import annotations

from retrograph.resolvers.outcomes import EvidenceAdded
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_node
from retrograph.rules.limits import check_text
from retrograph.storage.edge_writes import put_evidence
from retrograph.storage.records import NodeRef
from retrograph.storage.write import Write


def add_evidence(
    scope: Scope, fleet_id: int, ref: NodeRef, uri: str, note: str | None = None
) -> EvidenceAdded:
    """Adds evidence; a URI that hangs on the node already only takes a new note."""
    check_text(uri, ("input", "uri"))
    if note is not None:
        check_text(note, ("input", "note"))

    def job(write: Write) -> EvidenceAdded:
        node = require_node(write.snapshot, ref, ("input", "node"))
        return EvidenceAdded(write.instant, node, put_evidence(write, node.id, uri, note))

    return scope.write(fleet_id, job)
