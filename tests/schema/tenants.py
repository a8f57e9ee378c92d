"""What each of two tenants has: a text of its own, in everything that holds texts."""

from __future__ import annotations

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.claim_revalidations import claim_revalidations
from retrograph.resolvers.complete_revalidation import (
    Completion,
    Outcome,
    complete_revalidation,
)
from retrograph.resolvers.inputs import Invalidation, NodeInput
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.schedule_invalidation import request_invalidation
from retrograph.storage.task_records import TaskRecord
from tests.executions import leave_traces
from tests.memory import NEW, Memory, ref
from tests.schema.minds import bear_in_mind

MARK = "for our eyes"
"""It stands in every text of the other tenant, and in nothing that is asked."""
KEYS = ("root", "fallen", "pinned")


def keep(memory: Memory, mark: str) -> list[TaskRecord]:
    """Puts a text everywhere in a fleet; gives the tasks that are leased, with their tokens."""
    memory.put(*(NodeInput(key, kind=NEW, payload={"text": mark}) for key in KEYS))
    memory.link("root REQUIRES fallen", "root DERIVED_FROM pinned", "fallen SUPPORTED_BY pinned")
    add_evidence(memory.scope, memory.fleet, ref("fallen"), f"urn:{mark}", mark)
    pin_node(memory.scope, memory.fleet, ref("pinned"), pinned=True, reason=mark)
    memory.fell("root", reason=mark, idempotency_key=None if mark != MARK else "theirs")
    leave_traces(memory.scope, memory.fleet, mark, ref("root"))
    return judge(memory, mark)


def judge(memory: Memory, mark: str) -> list[TaskRecord]:
    """Opens tasks, and leaves one refuted, one waiting and one leased; with texts everywhere."""
    memory.put(*(NodeInput(key, kind=NEW) for key in ("base", "gone", "left", "last")))
    memory.link("base DERIVED_FROM gone", "base DERIVED_FROM left", "left DERIVED_FROM last")
    memory.fell("base")
    tasks = claim_revalidations(memory.scope, memory.fleet, mark, 100)
    wanted = {memory.node("gone").id: Outcome.REFUTED}
    for each in tasks:
        if each.node_id in wanted:
            judged = Completion(
                each.id,
                each.lease_token or "",
                wanted[each.node_id],
                evidence=[mark],
                note=mark,
                by=mark,
            )
            complete_revalidation(memory.scope, memory.fleet, judged)
    later = Invalidation(ref("root"), mark, effective_at=memory.store.now() + 10**12)
    request_invalidation(memory.scope, memory.fleet, later)
    bear_in_mind(memory, mark)
    return [each for each in tasks if each.node_id not in wanted]
