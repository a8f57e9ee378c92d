"""The budget law: no state exceeds its budget, and what gives way does so in one order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from retrograph.rules.budget import Eviction, EvictionKind, evicted, plan, update_memory
from retrograph.rules.errors import BudgetExceeded, InvalidInput
from retrograph.rules.rendering import render
from retrograph.rules.tokens import estimate_tokens
from retrograph.rules.working_memory import (
    Hypothesis,
    HypothesisStatus,
    Observation,
    Observed,
    Register,
    RegisterWrite,
    Update,
    WorkingMemory,
    Written,
    apply,
    check_update,
)

TEXTS = st.text("ab ä\n𝄞", max_size=300)
NAMES = st.sampled_from(["a", "A", "b", "ǰ", "J̌", "straße", "STRASSE"])
WRITES = st.builds(
    RegisterWrite, NAMES, st.one_of(st.integers(0, 9), TEXTS), st.sampled_from([None, False, True])
)
HYPOTHESES = st.builds(
    Hypothesis,
    st.sampled_from("pqr"),
    TEXTS,
    st.sampled_from([None, "p"]),
    st.sampled_from(HypothesisStatus),
    st.sampled_from([None, 0.5, 1.0]),
).filter(lambda each: each.id != each.parent)
UPDATES = st.builds(
    Update,
    goal=st.one_of(st.none(), TEXTS),
    sub_goal=st.one_of(st.none(), TEXTS),
    hypotheses=st.lists(HYPOTHESES, max_size=2),
    drop_hypotheses=st.lists(st.sampled_from("pqr"), max_size=1),
    registers=st.lists(WRITES, max_size=2),
    drop_registers=st.lists(NAMES, max_size=1),
    observations=st.lists(st.builds(Observed, st.just("grep"), TEXTS), max_size=2),
    budget=st.one_of(st.none(), st.integers(1, 400)),
)


class BudgetMachine(RuleBasedStateMachine):
    """A session: whatever is written, it fits, and nothing goes that could have stayed."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = WorkingMemory(budget=150)

    @rule(update=UPDATES)
    def write(self, update: Update) -> None:
        try:
            wanted, written = apply(self.memory, update)
        except InvalidInput:
            return
        steps = plan(wanted, written)
        least = estimate_tokens(render(evicted(wanted, steps)))
        if least > wanted.budget:
            with pytest.raises(BudgetExceeded) as caught:
                update_memory(self.memory, update, estimate_tokens)
            assert (caught.value.tokens, caught.value.budget) == (least, wanted.budget)
            return
        found = update_memory(self.memory, update, estimate_tokens)
        taken = len(found.evictions)
        assert list(found.evictions) == steps[:taken]
        assert found.memory == evicted(wanted, steps[:taken])
        if taken:
            assert estimate_tokens(render(evicted(wanted, steps[: taken - 1]))) > wanted.budget
        assert (found.rendered, found.tokens) == (
            render(found.memory),
            estimate_tokens(found.rendered),
        )
        self.stays(found.memory, wanted, written)
        self.memory = found.memory

    @staticmethod
    def stays(after: WorkingMemory, wanted: WorkingMemory, written: Written) -> None:
        assert (after.goal, after.sub_goal) == (wanted.goal, wanted.sub_goal)
        assert after.hypotheses == wanted.hypotheses
        must = [r for r in wanted.registers if r.pinned or r.key in written.registers]
        assert [r for r in after.registers if r in must] == must
        new = [o for o in wanted.observations if o.number >= written.first_observation]
        assert list(after.observations[len(after.observations) - len(new) :]) == new

    @invariant()
    def it_fits(self) -> None:
        assert estimate_tokens(render(self.memory)) <= self.memory.budget

    @invariant()
    def summaries_come_first_and_names_are_one(self) -> None:
        full = [not each.summary for each in self.memory.observations]
        assert full == sorted(full)
        assert len({r.key for r in self.memory.registers}) == len(self.memory.registers)


TestBudget = BudgetMachine.TestCase
TestBudget.settings = settings(max_examples=40, stateful_step_count=12)


def observation(number: int, *, summary: bool = False) -> Observation:
    return Observation(number, "t", "x" * 300, summary=summary)


def test_the_order_is_exact() -> None:
    memory = WorkingMemory(
        registers=(
            Register("old", 1), Register("kept", 1, pinned=True), Register("mine", 1),
            Register("new", 1),
        ),
        observations=(
            observation(3, summary=True), *(observation(number) for number in (5, 6, 7, 8, 9)),
        ),
        seen=9,
    )  # fmt: skip
    cut, gone = EvictionKind.SUMMARIZED, EvictionKind.OBSERVATION_DROPPED
    assert plan(memory, Written({"mine"}, 9)) == [
        *(Eviction(cut, number) for number in (5, 6)),
        *(Eviction(gone, number) for number in (3, 5, 6)),
        *(Eviction(cut, number) for number in (7, 8)),
        *(Eviction(gone, number) for number in (7, 8)),
        *(Eviction(EvictionKind.REGISTER_DROPPED, register=name) for name in ("old", "new")),
    ]


def test_observations_beyond_the_tail_stay_whole_while_they_fit() -> None:
    memory = WorkingMemory()
    for _ in range(6):
        memory = update_memory(memory, Update(observations=[Observed("t", "x" * 300)]), len).memory
    assert [each.summary for each in memory.observations] == [False] * 6


def test_a_summary_is_the_first_200_characters() -> None:
    after = evicted(
        WorkingMemory(observations=(Observation(1, "t", "ä" * 150 + "b" * 150),), seen=1),
        [Eviction(EvictionKind.SUMMARIZED, 1)],
    )
    assert after.observations == (Observation(1, "t", "ä" * 150 + "b" * 50, summary=True),)


def test_a_rewritten_register_keeps_its_pin_and_is_written_last() -> None:
    before = (Register("Größe", 1, pinned=True), Register("b", 2))
    after, written = apply(
        WorkingMemory(registers=before), Update(registers=[RegisterWrite("GRÖSSE", 3)])
    )
    assert after.registers == (Register("b", 2), Register("GRÖSSE", 3, pinned=True))
    assert written.registers == {"grösse"}
    after, _ = apply(after, Update(registers=[RegisterWrite("grösse", 3, pinned=False)]))
    assert not after.registers[-1].pinned


def test_what_is_not_given_stays_and_an_empty_goal_clears() -> None:
    memory = WorkingMemory(goal="g", sub_goal="s", registers=(Register("a", 1),), budget=77)
    after, _ = apply(memory, Update(sub_goal="", drop_registers=["A"]))
    assert after == replace(memory, version=1, sub_goal=None, registers=())


TREE = (Hypothesis("p", "top"), Hypothesis("q", "below", "p"), Hypothesis("r", "beside"))


def test_dropping_a_hypothesis_drops_what_hangs_on_it() -> None:
    after, _ = apply(WorkingMemory(hypotheses=TREE), Update(drop_hypotheses=["p"]))
    assert after.hypotheses == TREE[2:]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([Hypothesis("p", "t", "q")], "its own ancestor"),
        ([Hypothesis("r", "t", "r")], "its own ancestor"),
        ([Hypothesis("s", "t", "nobody")], "There is no hypothesis nobody"),
        ([Hypothesis(str(n), "t", str(n - 1) if n else None) for n in range(33)], "deeper than 32"),
    ],
)
def test_a_tree_stays_a_tree(given: list[Hypothesis], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        apply(WorkingMemory(hypotheses=TREE), Update(hypotheses=given))


def test_the_text_of_a_memory() -> None:
    memory = WorkingMemory(
        goal="Pay\n# Registers",
        sub_goal="Find the invoice",
        hypotheses=(
            Hypothesis("q", "late", "p", HypothesisStatus.REFUTED), Hypothesis("r", "lost"),
            Hypothesis("p", "paid", confidence=0.5),
        ),
        registers=(Register("id", "7", pinned=True), Register("n", {"b": 1, "a": [1.0]})),
        observations=(Observation(1, "ls", "a\nb", summary=True), Observation(2, "cat", "c")),
    )  # fmt: skip
    assert render(memory) == (
        "# Goal\n- Pay\n  # Registers\n"
        "# Sub-goal\n- Find the invoice\n"
        "# Hypotheses\n- [OPEN] r: lost\n- [OPEN 0.5] p: paid\n  - [REFUTED] q: late\n"
        '# Registers\n- id (pinned) = "7"\n- n = {"a":[1],"b":1}\n'
        "# Observations\n~ 1 ls: a\n  b\n- 2 cat: c\n"
    )
    assert render(WorkingMemory()) == ""


@given(TEXTS, st.integers(0, 300))
def test_shortening_never_makes_the_text_longer(text: str, length: int) -> None:
    whole, part = (
        render(WorkingMemory(observations=(Observation(1, "t", each),)))
        for each in (text, text[:length])
    )
    assert len(part.encode()) <= len(whole.encode())


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("äää", 2)])
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize(
    ("update", "path"),
    [
        (Update(goal="\0"), "input/goal"),
        (Update(sub_goal="x" * 10_001), "input/subGoal"),
        (Update(budget=0), "input/budget"),
        (Update(budget=100_001), "input/budget"),
        (Update(registers=[RegisterWrite(" ", 1)]), "input/registers/0/name"),
        (Update(registers=[RegisterWrite("a", 1)] * 1_001), "input/registers"),
        (Update(observations=[Observed("", "x")]), "input/observations/0/tool"),
        (Update(observations=[Observed("t", "x" * 400_001)]), "input/observations/0/text"),
        (Update(hypotheses=[Hypothesis("", "x")]), "input/hypotheses/0/id"),
        (Update(hypotheses=[Hypothesis("a", "")]), "input/hypotheses/0/text"),
        (Update(hypotheses=[Hypothesis("a", "b", confidence=2)]), "input/hypotheses/0/confidence"),
    ],
)
def test_bad_input_is_refused(update: Update, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_update(update)
    assert "/".join(caught.value.path) == path


def test_sound_input_passes() -> None:
    update = Update("g", "", TREE, ["gone"], [RegisterWrite("a", 1)], ["b"], [Observed("t", "")], 9)
    assert check_update(update) is update
