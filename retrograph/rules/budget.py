"""The budget of a working memory: no state exceeds it, and what gives way is settled beforehand.

Until the rendered text fits, in this order: observations beyond the tail become summaries;
summaries go; observations of the tail become summaries, then go; registers go that aren't pinned,
the least recently written first; all else oldest first. What the update itself wrote, goals,
hypotheses and pinned registers stay.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache

from retrograph.rules.errors import BudgetExceeded
from retrograph.rules.rendering import render
from retrograph.rules.tokens import TokenCounter
from retrograph.rules.working_memory import (
    TAIL,
    Observation,
    Update,
    WorkingMemory,
    Written,
    apply,
)

SUMMARY_LENGTH = 200
"""Characters that a summary keeps of an observation: its first ones."""


class EvictionKind(IntEnum):
    """What was done to make room."""

    SUMMARIZED = 1
    OBSERVATION_DROPPED = 2
    REGISTER_DROPPED = 3


@dataclass(frozen=True, slots=True)
class Eviction:
    """One step: `observation` is the number of one, or `register` the key of one."""

    kind: EvictionKind
    observation: int | None = None
    register: str | None = None


@dataclass(frozen=True, slots=True)
class Updated:
    """The state after an update, the steps that made it fit in their order, and its text."""

    memory: WorkingMemory
    evictions: tuple[Eviction, ...]
    rendered: str
    tokens: int


def update_memory(memory: WorkingMemory, update: Update, count: TokenCounter) -> Updated:
    """The next state, which fits its budget.

    Raises `BudgetExceeded` where even what must stay does not fit, and what `apply` raises.
    """
    wanted, written = apply(memory, update)
    steps = plan(wanted, written)

    @cache
    def tried(taken: int) -> tuple[WorkingMemory, str, int]:
        after = evicted(wanted, steps[:taken])
        rendered = render(after)
        return after, rendered, count(rendered)

    taken = _first(len(steps), lambda taken: tried(taken)[2] <= wanted.budget)
    after, rendered, tokens = tried(taken)
    if tokens > wanted.budget:
        raise BudgetExceeded(tokens, wanted.budget, path=("input",))
    return Updated(after, tuple(steps[:taken]), rendered, tokens)


def _first(most: int, fits: Callable[[int], bool]) -> int:
    """The fewest steps after which it fits, or all: looked for among few, then by halving.

    A step never makes the text longer, so that it fits after all that are more.
    """
    low = high = 0
    while high < most and not fits(high):
        low, high = high + 1, min(2 * high + 1, most)
    return low + bisect_left(range(low, high), True, key=fits)


def plan(memory: WorkingMemory, written: Written) -> list[Eviction]:
    """Every step that may be taken, in the order in which they are."""
    evictable = [o for o in memory.observations if o.number < written.first_observation]
    beyond = memory.seen - TAIL
    early = [o.number for o in evictable if not o.summary and o.number <= beyond]
    tail = [o.number for o in evictable if not o.summary and o.number > beyond]
    summaries = sorted([o.number for o in evictable if o.summary] + early)
    registers = [
        each.key
        for each in memory.registers
        if not each.pinned and each.key not in written.registers
    ]
    return [
        *(Eviction(EvictionKind.SUMMARIZED, number) for number in early),
        *(Eviction(EvictionKind.OBSERVATION_DROPPED, number) for number in summaries),
        *(Eviction(EvictionKind.SUMMARIZED, number) for number in tail),
        *(Eviction(EvictionKind.OBSERVATION_DROPPED, number) for number in tail),
        *(Eviction(EvictionKind.REGISTER_DROPPED, register=key) for key in registers),
    ]


def evicted(memory: WorkingMemory, steps: Sequence[Eviction]) -> WorkingMemory:
    """The memory after some steps of its plan."""
    short = {s.observation for s in steps if s.kind is EvictionKind.SUMMARIZED}
    gone = {s.observation for s in steps if s.kind is EvictionKind.OBSERVATION_DROPPED}
    registers = {s.register for s in steps if s.kind is EvictionKind.REGISTER_DROPPED}
    return replace(
        memory,
        observations=tuple(
            summary_of(each) if each.number in short else each
            for each in memory.observations
            if each.number not in gone
        ),
        registers=tuple(each for each in memory.registers if each.key not in registers),
    )


def summary_of(observed: Observation) -> Observation:
    """The first 200 characters of an observation: the same cut every time."""
    return replace(observed, text=observed.text[:SUMMARY_LENGTH], summary=True)
