"""What fell with a library of a real distribution is judged again by workers that fail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from retrograph.resolvers.importing.graph import import_graph
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.agenda import Agenda, agenda
from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store
from retrograph.storage.tables import edge, node_state
from tests import debian
from tests.clock import ManualClock
from tests.open_work import check_tasks
from tests.simulation import FLEET, Simulation, dead_at_last, is_refuted

NEAR = 100
FEW = 20
REQUIRED = (EdgeType.REQUIRES, EdgeType.VALID_ONLY_WHEN)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def scope(tmp_path: Path, clock: ManualClock) -> Iterator[Scope]:
    store = open_store(str(tmp_path / "memory.db"), clock=clock)
    yield Scope(store, 1, None, frozenset(Role))
    store.close()


def near(count: int) -> list[debian.Line]:
    """The nodes that lie nearest to the root, and the edges between them."""
    found = debian.depths(debian.dependents(True), debian.ROOT_KEY, 3)
    ranked = sorted(found, key=lambda key: (found[key], key))
    kept = {debian.ROOT_KEY, *ranked[:: max(1, len(ranked) // count)]}
    return [line for line in debian.graph(True) if debian.keys_of(line) <= kept]


def simulated(
    scope: Scope,
    clock: ManualClock,
    lines: list[debian.Line],
    random: Random,
    check: Callable[[], None] = lambda: None,
) -> Simulation:
    """A run to its end, whose state is that of a sequential judge."""
    import_graph(scope, debian.as_file(lines), FLEET)
    invalidate(scope, FLEET, Invalidation(NodeRef(key=debian.ROOT_KEY), "a hole was found"))
    edges = edges_of(scope)
    sources: defaultdict[int, set[int]] = defaultdict(set)
    for source, target, _ in edges:
        sources[target].add(source)
    whom = {node: frozenset(each) for node, each in sources.items()}
    simulation = Simulation(scope, clock, whom, circles(edges), wrong_among(edges), check, random)
    simulation.run()
    check_end(scope, simulation, edges)
    return simulation


def edges_of(scope: Scope) -> list[tuple[int, int, int]]:
    with scope.snapshot(FLEET) as s:
        rows = s.connection.execute(edge.current.select()).all()
    kinds = [int(kind) for kind in PROPAGATING]
    return [(row.source_id, row.target_id, row.type) for row in rows if row.type in kinds]


def circles(edges: list[tuple[int, int, int]]) -> Callable[[int], frozenset[int]]:
    found = agenda_of(edges)
    leader = dict(zip(found.nodes, found.leaders, strict=True))
    members: defaultdict[int, set[int]] = defaultdict(set)
    for node, each in leader.items():
        members[each].add(node)
    frozen = {each: frozenset(nodes) for each, nodes in members.items()}
    return lambda node: frozen[leader[node]]


def wrong_among(edges: list[tuple[int, int, int]]) -> frozenset[int]:
    """One in ten of those with whom few die.

    Were a hub among them, all would be dead at once, and nothing left to judge.
    """
    found = agenda_of([each for each in edges if each[2] in REQUIRED])
    few = {node for node, count in zip(found.nodes, found.waiting, strict=True) if count <= FEW}
    return frozenset(node for node in few if is_refuted(node))


def agenda_of(edges: list[tuple[int, int, int]]) -> Agenda:
    nodes = sorted({node for source, target, _ in edges for node in (source, target)})
    return agenda(nodes, ([source for source, _, _ in edges], [target for _, target, _ in edges]))


def check_end(scope: Scope, simulation: Simulation, edges: list[tuple[int, int, int]]) -> None:
    with scope.snapshot(FLEET) as s:
        rows = s.connection.execute(node_state.current.select()).all()
        root = next(row.id for row in rows if row.run_ordinal == 0 and row.validity == 4)
    states = {row.id: Validity(row.validity) for row in rows}
    required = [(source, target) for source, target, kind in edges if kind in REQUIRED]
    judged = simulation.fallen - {root}
    wrong = judged & simulation.wrong
    dead = dead_at_last(required, wrong) & simulation.fallen
    assert {node for node, state in states.items() if state is Validity.INVALID} == dead | {root}
    healed = judged - dead
    assert {states[node] for node in healed} == {Validity.REVALIDATED}
    assert all(
        state is Validity.CURRENTLY_VALID
        for node, state in states.items()
        if node not in simulation.fallen and node != root
    )


@pytest.mark.parametrize("seed", range(2))
def test_workers_that_fail_end_where_a_sequential_judge_does(
    scope: Scope, clock: ManualClock, seed: int
) -> None:
    def check() -> None:
        with scope.snapshot(FLEET) as s:
            check_tasks(s)

    assert_failures(simulated(scope, clock, near(NEAR), Random(seed), check))


def assert_failures(simulation: Simulation) -> None:
    """All that may go wrong went wrong, or the run proves little."""
    failures = {"crashed", "timed out", "ERROR", "REFUTED", "TASK_CLOSED", "LEASE_LOST"}
    assert failures <= simulation.counts.keys()
    assert simulation.requeued


@pytest.mark.long
@pytest.mark.parametrize("sampled", [True, False], ids=["sample", "all"])
def test_a_whole_distribution_heals(scope: Scope, clock: ManualClock, sampled: bool) -> None:
    assert_failures(simulated(scope, clock, list(debian.graph(sampled)), Random(3)))
