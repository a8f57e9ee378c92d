"""`supersede`: replaces a node by another, and fells what rested on the old one."""

from __future__ import annotations

from retrograph.resolvers.inputs import Supersession
from retrograph.resolvers.puts import Put, apply_puts, check_put, propagate_changes
from retrograph.resolvers.requests import check_idempotency_key, check_plan, once
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.targets import require_node
from retrograph.rules.cascade import Seeds
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import check_text
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.edge_writes import create_edges, existing_edges
from retrograph.storage.records import RunRecord
from retrograph.storage.write import Write


def supersede(scope: Scope, fleet_id: int, request: Supersession) -> RunRecord:
    """Puts the new node, links it to the old one by `SUPERSEDES`, and runs the cascade.

    The new node may exist already; if its content changes by this, that is a second run.  Raises
    `NotFound`, `InvalidInput`, `VersionConflict`, `PlanChanged`, `RunTooLarge`,
    `IdempotencyKeyReused`.
    """
    check_text(request.reason, ("input", "reason"))
    check_idempotency_key(request.idempotency_key)
    put = check_put(request.by, ("input", "by"))

    def job(write: Write) -> RunRecord:
        asked = _as_json(request, put)
        return once(write, request.idempotency_key, asked, lambda: _run(write, request, put))

    return scope.write(fleet_id, job)


def _run(write: Write, request: Supersession, put: Put) -> RunRecord:
    old = require_node(write.snapshot, request.old, ("input", "old"))
    done = apply_puts(write, [put])
    key = (done.ids[0], old.id, EdgeType.SUPERSEDES)
    if key[0] == old.id:
        raise InvalidInput("A node can't replace itself.", path=("input", "by"), code="SELF_LOOP")
    if not existing_edges(write, [key]):
        create_edges(write, [key])
    fallen = write.cascade(Seeds(roots={old.id: Validity.SUPERSEDED}))
    check_plan(fallen, request.expected_plan)
    run = record_run(write, RunOrder(old.id, Validity.SUPERSEDED, request.reason), fallen)
    propagate_changes(write, done.changed)
    return run


def _as_json(request: Supersession, put: Put) -> dict[str, object]:
    by = request.by
    return {
        "request": "supersede",
        "old": {"id": str(request.old.id), "key": request.old.key},
        "by": {"id": str(by.id), "key": by.key, "kind": by.kind and by.kind.name},
        "version": by.expected_version,
        "fields": {
            name: None if value is None else str(value) for name, value in put.fields.items()
        },
        "reason": request.reason,
        "plan": request.expected_plan,
    }
