"""The law of laws: every instant once observed answers the same for ever after."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.storage.work_machine import WorkMachine


def run_machine(store: Store, clock: ManualClock, examples: int, steps: int) -> None:
    class Machine(WorkMachine):
        pass

    Machine.store, Machine.clock, Machine.fleets = store, clock, count(2)
    limits = settings(max_examples=examples, stateful_step_count=steps)
    run_state_machine_as_test(Machine, settings=limits)


def test_the_past_is_final(store: Store, clock: ManualClock) -> None:
    run_machine(store, clock, examples=8, steps=25)


@pytest.mark.long
@pytest.mark.parametrize("part", range(6))
def test_the_past_is_final_for_long(store: Store, clock: ManualClock, part: int) -> None:
    run_machine(store, clock, examples=50, steps=80)
