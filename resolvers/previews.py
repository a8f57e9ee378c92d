"""`previewInvalidation`: the cascade that `invalidate` would run, at any instant, unwritten."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.requests import check_effect
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_node
from retrograph.rules.cascade import Cascade, Seeds, cascade
from retrograph.rules.plan import plan_hash
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef


@dataclass(frozen=True, slots=True)
class Preview:
    """A cascade at an instant; `plan_hash` names exactly its changes."""

    as_of: int
    plan_hash: str
    cascade: Cascade


def preview_invalidation(
    scope: Scope, fleet_id: int, root: NodeRef, effect: Validity, at: int | None
) -> Preview:
    """Computes the cascade, which is empty before all history.

    Raises `NotFound` where the root is no node at the instant, `InvalidInput`, `RunTooLarge`.
    """
    check_effect(effect, ("effect",))
    with scope.snapshot(fleet_id, at) as snapshot:
        ids = [] if snapshot.blank else [require_node(snapshot, root, ("root",)).id]
        fallen = cascade(scope.store.graph(snapshot), Seeds(roots=dict.fromkeys(ids, effect)))
        return Preview(snapshot.instant, plan_hash(fallen), fallen)
