"""Why a node is not healthy: the run that felled it, and its place in that run."""

from __future__ import annotations

from retrograph.resolvers.scope import Scope
from retrograph.rules.validity import Validity
from retrograph.storage.history import histories
from retrograph.storage.records import StalenessRecord
from retrograph.storage.staleness import staleness_of
from tests.memory import Memory
from tests.storage.counting import count


def _told(memory: Memory, at: int | None = None) -> dict[str, StalenessRecord | None]:
    nodes = memory.nodes(at)
    with memory.store.read(1, 1, at) as s:
        found = staleness_of(s, nodes.values())
        assert count(s, lambda: staleness_of(s, nodes.values())) <= 2
    return {key: found[node.version_id] for key, node in nodes.items()}


def test_a_felled_node_names_the_run_and_its_depth(scope: Scope) -> None:
    memory = Memory(scope)
    memory.plant("a", "b", "c")
    memory.link("a REQUIRES b")
    before = memory.store.clock(1, 1)
    run = memory.fell("a")
    told = _told(memory)
    assert told["a"] == StalenessRecord(run, depth=0, ordinal=0)
    assert told["b"] == StalenessRecord(run, depth=1, ordinal=1)
    assert told["c"] is None
    assert _told(memory, before) == {"a": None, "b": None, "c": None}


def test_a_state_that_no_run_gave_has_no_reason(scope: Scope) -> None:
    memory = Memory(scope)
    memory.plant("a", validity=Validity.DEFINITELY_STALE)
    assert _told(memory) == {"a": None}


def test_a_pinned_node_is_healthy_whatever_was_left_on_it(scope: Scope) -> None:
    memory = Memory(scope)
    memory.plant("a", pinned=True)
    memory.fell("a")
    assert _told(memory) == {"a": None}


def test_each_version_of_a_history_has_a_reason_of_its_own(scope: Scope) -> None:
    memory = Memory(scope)
    memory.plant("a")
    weak = memory.fell("a", Validity.POTENTIALLY_STALE)
    strong = memory.fell("a")
    with memory.store.read(1, 1) as s:
        versions = histories(s, [1], 10, None)[1].rows
        found = staleness_of(s, versions)
        reasons = [found[version.version_id] for version in versions]
    assert [reason and reason.run.id for reason in reasons] == [strong.id, weak.id, None]
