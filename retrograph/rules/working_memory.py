"""What an agent has in mind during a session, and what an update makes of it.

Nothing here looks at the budget: `budget` decides what goes so that the rest fits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from retrograph.rules.errors import FieldPath, InvalidInput
from retrograph.rules.limits import check_batch, check_confidence, check_text
from retrograph.rules.names import check_name, fold_name

DEFAULT_BUDGET = 4_000
"""Tokens of the rendered text, where a session sets nothing else."""
MAX_BUDGET = 100_000
TAIL = 3
"""The newest observations: they give way last."""
MAX_STATE_BYTES = 8_388_608
"""Of a whole memory's JSON: several times what the largest budget lets stay."""
MAX_TREE_DEPTH = 32
"""Hypotheses from a root to the most special one."""
MAX_OBSERVATION = 400_000
"""Characters of what a tool answered: more than any budget holds."""


class HypothesisStatus(IntEnum):
    """What has become of a hypothesis."""

    OPEN = 1
    CONFIRMED = 2
    REFUTED = 3
    ABANDONED = 4


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A supposition in a tree; `parent` is the id of the one that it makes more special."""

    id: str
    text: str
    parent: str | None = None
    status: HypothesisStatus = HypothesisStatus.OPEN
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """A value of JSON under a name; a pinned one is never evicted."""

    name: str
    value: object
    pinned: bool = False

    @property
    def key(self) -> str:
        """What makes two names the same."""
        return fold_name(self.name)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool answered; `number` counts the observations of a session from 1."""

    number: int
    tool: str
    text: str
    summary: bool = False


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The state of a session.

    Registers stand in the order in which they were last written, observations in that of their
    numbers. `seen` is how many observations there ever were. Version 0 was never written.
    """

    version: int = 0
    budget: int = DEFAULT_BUDGET
    goal: str | None = None
    sub_goal: str | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    registers: tuple[Register, ...] = ()
    observations: tuple[Observation, ...] = ()
    seen: int = 0


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """A value for a register; `pinned` None leaves the pin as it is, `keeps` the value.

    A register that begins with no value holds null.
    """

    name: str
    value: object
    pinned: bool | None = None
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """A new observation."""

    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Update:
    """What is to change; None and nothing leave what is there, an empty goal clears it."""

    goal: str | None = None
    sub_goal: str | None = None
    hypotheses: Sequence[Hypothesis] = ()
    drop_hypotheses: Sequence[str] = ()
    registers: Sequence[RegisterWrite] = ()
    drop_registers: Sequence[str] = ()
    observations: Sequence[Observed] = ()
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What one update wrote, and the budget must leave: keys of registers, the first number."""

    registers: Collection[str] = frozenset()
    first_observation: int = 1


def check_update(update: Update, field: FieldPath = ("input",)) -> Update:
    """An update of sound names, texts and numbers; raises `InvalidInput`."""
    for name, goal in (("goal", update.goal), ("subGoal", update.sub_goal)):
        if goal is not None:
            check_text(goal, (*field, name), required=False)
    if update.budget is not None and not 1 <= update.budget <= MAX_BUDGET:
        raise InvalidInput(f"Give a budget of 1 to {MAX_BUDGET:,}.", path=(*field, "budget"))
    for name, items in (
        ("hypotheses", update.hypotheses), ("dropHypotheses", update.drop_hypotheses),
        ("registers", update.registers), ("dropRegisters", update.drop_registers),
        ("observations", update.observations),
    ):  # fmt: skip
        check_batch(max(1, len(items)), field=(*field, name))
    ids: set[str] = {*update.drop_hypotheses}
    for place, hypothesis in enumerate(update.hypotheses):
        path = (*field, "hypotheses", str(place))
        _check_hypothesis(hypothesis, path)
        _check_once(hypothesis.id, ids, (*path, "id"))
    keys = set(map(fold_name, update.drop_registers))
    for place, register in enumerate(update.registers):
        path = (*field, "registers", str(place), "name")
        check_name(register.name, path)
        _check_once(fold_name(register.name), keys, path)
    for place, observed in enumerate(update.observations):
        path = (*field, "observations", str(place))
        check_name(observed.tool, (*path, "tool"))
        check_text(observed.text, (*path, "text"), MAX_OBSERVATION, required=False)
    return update


def _check_once(name: str, named: set[str], field: FieldPath) -> None:
    """Adds to what an update names; raises `InvalidInput` for what it writes twice, or drops."""
    if name in named:
        raise InvalidInput("The update names it twice; write it once, or drop it.", path=field)
    named.add(name)


def _check_hypothesis(given: Hypothesis, field: FieldPath) -> None:
    check_name(given.id, (*field, "id"))
    check_text(given.text, (*field, "text"))
    if given.confidence is not None:
        check_confidence(given.confidence, (*field, "confidence"))


def apply(memory: WorkingMemory, update: Update) -> tuple[WorkingMemory, Written]:
    """The next version of a memory, whether it fits or not, and what the update wrote.

    A hypothesis whose id is known takes the place of that one; dropping one drops what hangs on
    it. Raises `InvalidInput` for a parent that isn't there, for a circle, and for what is written
    below something that the update drops.
    """
    registers = _registers(memory.registers, update)
    after = replace(
        memory,
        version=memory.version + 1,
        budget=memory.budget if update.budget is None else update.budget,
        goal=_goal(memory.goal, update.goal),
        sub_goal=_goal(memory.sub_goal, update.sub_goal),
        hypotheses=_hypotheses(memory.hypotheses, update),
        registers=registers,
        observations=(*memory.observations, *_observations(memory.seen, update)),
        seen=memory.seen + len(update.observations),
    )
    return after, Written({fold_name(r.name) for r in update.registers}, memory.seen + 1)


def _goal(before: str | None, given: str | None) -> str | None:
    return before if given is None else given or None


def _observations(seen: int, update: Update) -> list[Observation]:
    return [
        Observation(number, each.tool, each.text)
        for number, each in enumerate(update.observations, seen + 1)
    ]


def _registers(before: Sequence[Register], update: Update) -> tuple[Register, ...]:
    found = {each.key: each for each in before}
    for name in update.drop_registers:
        found.pop(fold_name(name), None)
    for given in update.registers:
        former = found.pop(fold_name(given.name), None)
        pinned = (former is not None and former.pinned) if given.pinned is None else given.pinned
        value = former.value if given.keeps and former is not None else given.value
        register = Register(given.name, value, pinned)
        found[register.key] = register
    return tuple(found.values())


def _hypotheses(before: Sequence[Hypothesis], update: Update) -> tuple[Hypothesis, ...]:
    found = {each.id: each for each in before} | {each.id: each for each in update.hypotheses}
    dropped = set(update.drop_hypotheses)
    for each in found.values():
        _check_line(found, each)
    for place, each in enumerate(update.hypotheses):
        _check_kept(line(found, each), dropped, str(place))
    return tuple(each for each in found.values() if not dropped.intersection(line(found, each)))


def _check_kept(ids: Sequence[str], dropped: Collection[str], place: str) -> None:
    """Raises `InvalidInput` for what is written below something that the same update drops."""
    above = next((id for id in ids if id in dropped), None)
    if above is not None:
        raise InvalidInput(
            f"It hangs on {above}, which the update drops; give it another parent, or keep that.",
            path=("input", "hypotheses", place, "parent"),
        )


def _check_line(found: Mapping[str, Hypothesis], start: Hypothesis) -> None:
    ids = line(found, start)
    last = found[ids[-1]].parent
    if last is not None and last not in found:
        fault = f"There is no hypothesis {last}; give it, too."
    elif last is not None:
        fault = f"Hypothesis {start.id} would be its own ancestor; give it another parent."
    elif len(ids) > MAX_TREE_DEPTH:
        fault = f"The tree would be deeper than {MAX_TREE_DEPTH}; give {start.id} another parent."
    else:
        return
    raise InvalidInput(fault, path=("input", "hypotheses"))


def line(found: Mapping[str, Hypothesis], start: Hypothesis) -> list[str]:
    """The ids from a hypothesis up to its root, or to where the line breaks or comes round."""
    ids = {start.id: None}
    parent = start.parent
    while parent is not None and parent in found and parent not in ids:
        ids[parent] = None
        parent = found[parent].parent
    return list(ids)
