"""`workingMemory`, `updateWorkingMemory`: sessions, versions, budgets and the past."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from threading import Barrier, Thread

import pytest

from retrograph.resolvers.scope import Scope
from retrograph.resolvers.working_memory import get_working_memory, update_working_memory
from retrograph.rules.budget import EvictionKind
from retrograph.rules.errors import BudgetExceeded, InvalidInput, MemoryConflict, NotFound
from retrograph.rules.rendering import render
from retrograph.rules.tokens import estimate_tokens
from retrograph.rules.working_memory import (
    Hypothesis,
    HypothesisStatus,
    Observed,
    Register,
    RegisterWrite,
    Update,
    WorkingMemory,
)
from retrograph.storage.working_memories import WorkingMemoryRecord
from tests.dump import dump
from tests.memory import Memory

FULL = Update(
    goal="Pay the invoice",
    sub_goal="Find it",
    hypotheses=[Hypothesis("h", "lost", None, HypothesisStatus.REFUTED, 0.25)],
    registers=[RegisterWrite("Größe", {"b": [1.0, None], "a": "𝄞"}, pinned=True)],
    observations=[Observed("ls", "nothing here")],
    budget=500,
)


def updating(memory: Memory, session: str = "s") -> partial[WorkingMemoryRecord]:
    return partial(update_working_memory, memory.scope, memory.fleet, session)


def test_what_is_written_is_read_back(memory: Memory) -> None:
    written = update_working_memory(memory.scope, 1, "s", FULL)
    assert get_working_memory(memory.scope, 1, "s") == written
    held = written.memory
    assert (held.version, held.budget, held.goal, held.sub_goal) == (1, 500, FULL.goal, "Find it")
    assert list(held.hypotheses) == list(FULL.hypotheses)
    assert held.registers[0].value == {"a": "𝄞", "b": [1, None]}
    assert written.tokens == estimate_tokens(render(held))
    assert written.evictions == ()


def test_every_version_stays_readable_with_what_it_took_out(memory: Memory) -> None:
    seen = []
    for number in range(6):
        update = Update(observations=[Observed("cat", f"{number}" * 400)], budget=300)
        seen.append(update_working_memory(memory.scope, 1, "s", update))
    assert seen[0].evictions == ()
    kinds = {each.kind for record in seen for each in record.evictions}
    assert kinds == {EvictionKind.SUMMARIZED, EvictionKind.OBSERVATION_DROPPED}
    for record in seen:
        assert get_working_memory(memory.scope, 1, "s", record.as_of) == record
        assert record.tokens <= record.memory.budget
    between = get_working_memory(memory.scope, 1, "s", seen[3].as_of - 1)
    assert between == replace(seen[2], as_of=seen[3].as_of - 1)
    assert get_working_memory(memory.scope, 1, "s", seen[0].as_of - 1) is None


def test_sessions_and_fleets_have_memories_of_their_own(memory: Memory) -> None:
    memory.store.write_all(1, [2], lambda _: None)
    for fleet, session in ((1, "s"), (1, "S"), (1, "s "), (2, "s")):
        update = Update(goal=f"{fleet}{session}")
        update_working_memory(memory.scope, fleet, session, update, 0)
    for fleet, session in ((1, "s"), (1, "S"), (1, "s "), (2, "s")):
        record = get_working_memory(memory.scope, fleet, session)
        assert record is not None
        assert (record.memory.goal, record.session_id) == (f"{fleet}{session}", session)
    assert get_working_memory(memory.scope, 1, "t") is None


def test_another_version_than_expected_is_refused(memory: Memory) -> None:
    update = updating(memory)
    with pytest.raises(MemoryConflict) as caught:
        update(Update(goal="g"), 1)
    assert caught.value.current == 0
    update(Update(goal="g"), 0)
    update(Update(goal="h"), 1)
    before = dump(memory.store)
    with pytest.raises(MemoryConflict) as caught:
        update(Update(goal="i"), 1)
    assert (caught.value.current, caught.value.path) == (2, ("input", "expectedVersion"))
    assert dump(memory.store) == before


def test_what_must_stay_and_does_not_fit_is_refused(memory: Memory) -> None:
    update_working_memory(memory.scope, 1, "s", FULL)
    before = dump(memory.store)
    with pytest.raises(BudgetExceeded) as caught:
        update_working_memory(memory.scope, 1, "s", Update(budget=10))
    assert caught.value.tokens > caught.value.budget == 10
    with pytest.raises(BudgetExceeded):
        update_working_memory(
            memory.scope, 1, "t", Update(observations=[Observed("t", "x" * 16_001)])
        )
    assert dump(memory.store) == before


def test_tokens_are_counted_as_the_store_says(memory: Memory) -> None:
    memory.store.count_tokens = lambda text: len(text.split())
    assert updating(memory)(Update(goal="pay it now")).tokens == 6


def test_a_register_keeps_what_a_write_leaves_out(memory: Memory) -> None:
    def write(given: RegisterWrite) -> Register:
        update_working_memory(memory.scope, 1, "s", Update(registers=[given]))
        record = get_working_memory(memory.scope, 1, "s")
        assert record is not None
        (register,) = record.memory.registers
        return register

    assert write(RegisterWrite("iban", None, keeps=True)) == Register("iban", None)
    assert write(RegisterWrite("iban", "DE123")) == Register("iban", "DE123")
    assert write(RegisterWrite("IBAN", None, pinned=True, keeps=True)) == Register(
        "IBAN", "DE123", pinned=True
    )
    assert write(RegisterWrite("iban", None)) == Register("iban", None, pinned=True)


def test_writers_at_once_lose_nothing(memory: Memory) -> None:
    start = Barrier(4)

    def write(name: str) -> None:
        start.wait()
        for number in range(5):
            registers = [RegisterWrite(f"{name}{number}", number)]
            update_working_memory(memory.scope, 1, "s", Update(registers=registers))

    threads = [Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record = get_working_memory(memory.scope, 1, "s")
    assert record is not None
    assert (record.memory.version, len(record.memory.registers)) == (20, 20)


def test_what_is_dropped_twice_is_dropped(memory: Memory) -> None:
    """Other hypotheses by case are others: only registers are named in any."""
    hypotheses = [Hypothesis("h", "a"), Hypothesis("H", "b")]
    update = updating(memory)
    update(Update(hypotheses=hypotheses, registers=[RegisterWrite("y", 1)]))
    after = update(Update(drop_hypotheses=["h", "h"], drop_registers=["y", "Y"])).memory
    assert ([each.id for each in after.hypotheses], after.registers) == (["H"], ())


def test_nothing_is_written_below_what_the_same_update_drops(memory: Memory) -> None:
    update = updating(memory)
    update(Update(hypotheses=[Hypothesis("h", "root"), Hypothesis("k", "below", "h")]))
    before = dump(memory.store)
    new = [Hypothesis("apart", "a"), Hypothesis("new", "b", "k")]
    for dropped in ("h", "k"):
        with pytest.raises(InvalidInput, match=f"It hangs on {dropped}, which") as caught:
            update(Update(hypotheses=new, drop_hypotheses=[dropped]))
        assert "/".join(caught.value.path) == "input/hypotheses/1/parent"
    assert dump(memory.store) == before
    moved = [Hypothesis("k", "alone"), *new]
    after = update(Update(hypotheses=moved, drop_hypotheses=["h"])).memory
    assert [each.id for each in after.hypotheses] == ["k", "apart", "new"]


NESTED: list[object] = []
for _ in range(199):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("session", "update", "expected", "path"),
    [
        ("", Update(), None, "sessionId"),
        ("s" * 201, Update(), None, "sessionId"),
        ("s", Update(), -1, "expectedVersion"),
        ("s", Update(budget=0), None, "budget"),
        ("s", Update(goal="\ud800"), None, "goal"),
        ("s", Update(hypotheses=[Hypothesis("a", "b", "a")]), None, "hypotheses"),
        ("s", Update(registers=[RegisterWrite("y", 1), RegisterWrite("Y", 1)]), None,
         "registers/1/name"),
        ("s", Update(registers=[RegisterWrite("y", 1)], drop_registers=["Y"]), None,
         "registers/0/name"),
        ("s", Update(hypotheses=[Hypothesis("h", "a"), Hypothesis("h", "b")]), None,
         "hypotheses/1/id"),
        ("s", Update(hypotheses=[Hypothesis("h", "a")], drop_hypotheses=["h"]), None,
         "hypotheses/0/id"),
        ("s", Update(registers=[RegisterWrite("r", 2**53)]), None, "registers/0/value"),
        ("s", Update(registers=[RegisterWrite("r", float("nan"))]), None, "registers/0/value"),
        ("s", Update(registers=[RegisterWrite("r", NESTED)]), None, ""),
    ],
)  # fmt: skip
def test_bad_input_changes_nothing(
    memory: Memory, session: str, update: Update, expected: int | None, path: str
) -> None:
    before = dump(memory.store)
    with pytest.raises(InvalidInput) as caught:
        update_working_memory(memory.scope, 1, session, update, expected)
    assert "/".join(caught.value.path) == f"input/{path}".rstrip("/")
    assert dump(memory.store) == before


def test_what_is_not_there_or_not_held_is_not_found(memory: Memory) -> None:
    scope = Scope(memory.store, 1, frozenset({2}), frozenset())
    for caller, fleet in ((memory.scope, 9), (scope, 1)):
        with pytest.raises(NotFound):
            get_working_memory(caller, fleet, "s")
        with pytest.raises(NotFound):
            update_working_memory(caller, fleet, "s", Update(goal="g"))
    with pytest.raises(InvalidInput):
        get_working_memory(memory.scope, 1, " ")


def test_another_tenants_session_is_another(memory: Memory) -> None:
    memory.store.write_all(2, [1], lambda _: None)
    update_working_memory(memory.scope, 1, "s", FULL)
    other = Scope(memory.store, 2, None, frozenset())
    assert get_working_memory(other, 1, "s") is None
    assert update_working_memory(other, 1, "s", Update()).memory == WorkingMemory(version=1)
