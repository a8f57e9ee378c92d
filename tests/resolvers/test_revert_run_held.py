"""`revertRun` of nodes that a judgement or a pin has held meanwhile."""

from __future__ import annotations

from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.revert_run import revert_run
from retrograph.rules.validity import Validity
from tests.consistency import assert_consistent
from tests.memory import Memory, ref
from tests.work import Work


def test_reverting_a_revert_leaves_alone_what_was_judged_since(memory: Memory) -> None:
    memory.plant("a")
    work = Work(memory)
    memory.fell("a", Validity.DEFINITELY_STALE)
    work.judge("a")
    fallen = memory.fell("a", Validity.POTENTIALLY_STALE)
    back = revert_run(memory.scope, 1, fallen.id)
    assert memory.states() == {"a": "REVALIDATED"}
    memory.fell("a", Validity.DEFINITELY_STALE)
    work.judge("a")
    again = revert_run(memory.scope, 1, back.run.id)
    assert (again.restored, again.left_alone) == ([], [memory.node("a").id])
    assert memory.states() == {"a": "REVALIDATED"}


def test_a_state_that_a_pin_held_is_given_back_without_the_pin(memory: Memory) -> None:
    memory.plant("a")
    first = memory.fell("a")
    pin_node(memory.scope, 1, ref("a"), pinned=True)
    revert_run(memory.scope, 1, first.id)
    node = memory.node("a")
    assert (node.validity.name, node.projected.name) == ("INVALID", "CURRENTLY_VALID")
    second = memory.fell("a")
    assert pin_node(memory.scope, 1, ref("a"), pinned=False).run is None
    revert_run(memory.scope, 1, second.id)
    node = memory.node("a")
    assert (node.validity.name, node.projected.name) == ("CURRENTLY_VALID", "CURRENTLY_VALID")
    assert_consistent(memory.store)
