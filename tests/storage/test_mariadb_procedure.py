"""The cascade's stored procedures decide exactly as the rules do, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy.exc import DBAPIError

from retrograph.rules.cascade import Cascade, Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import RunTooLarge
from retrograph.rules.validity import Validity
from retrograph.storage.mariadb.profile import MariadbProfile
from tests.rules.cascade_cases import Case, cases, impacts_of
from tests.rules.cascade_reference import Edge, Node
from tests.rules.cascade_strategies import EFFECTS, World, worlds
from tests.servers import MariaDBServer
from tests.storage.planted_graph import FLEET, OTHER_FLEET, TENANT, Soil

LONG = 10_000
INVALID = Seeds(roots={1: Validity.INVALID})


@pytest.fixture(scope="module")
def soil(mariadb_server: MariaDBServer) -> Iterator[Soil]:
    profile = MariadbProfile(mariadb_server.url(mariadb_server.fresh_database()))
    profile.prepare(migrate=True)
    yield Soil(profile)
    profile.close()


def _fell(soil: Soil, world: World, limit: int = 1_000_000) -> Cascade:
    with soil.planted(world.nodes, world.edges) as graph:
        return graph.fell(world.seeds, limit)


def _world_of(edges: list[Edge], seeds: Seeds = INVALID) -> World:
    ids = sorted({*seeds.roots, *(end for edge in edges for end in edge[:2])})
    return World([(node, 1, 1, 0) for node in ids], edges, seeds)


def _chain(kind: EdgeType, first: int, last: int) -> list[Edge]:
    return [(node, node + 1, kind) for node in range(first, last)]


@settings(max_examples=200)
@given(world=worlds())
def test_equals_the_rules_on_small_worlds(soil: Soil, world: World) -> None:
    assert _fell(soil, world) == cascade(world.graph(), world.seeds)


def _tangle(source: Random) -> World:
    """Return a graph of circles and supporters, with all kinds of seeds at once."""
    count = source.choice((8, 15, 40))
    ids = sorted(source.sample(range(-200, 200), count))
    validities = (Validity.CURRENTLY_VALID,) * source.choice((2, 8, 30)) + tuple(Validity)
    kinds = (EdgeType.SUPPORTED_BY,) * source.choice((0, 4, 12)) + tuple(EdgeType)
    nodes: list[Node] = []
    for node in ids:
        stored, pinned = source.choice(validities), source.random() < 0.1
        projected = source.choice(validities) if pinned else stored
        nodes.append((node, stored, projected, int(pinned)))
    ends = [*ids, 777]
    edges: list[Edge] = [
        (source.choice(ends), source.choice(ends), source.choice(kinds))
        for _ in range(source.randrange(4 * count))
    ]
    known = [edge for edge in edges if 777 not in edge]
    roots = source.sample(ids, source.randrange(4))
    seeds = Seeds(
        roots={root: source.choice(EFFECTS) for root in roots},
        passing=source.sample(known, min(len(known), source.randrange(6))),
        touched=source.sample(ids, source.choice((0, 0, 1, 3))),
    )
    return World(nodes, edges, seeds)


@pytest.mark.parametrize("seed", range(10))
def test_equals_the_rules_on_tangles(soil: Soil, seed: int) -> None:
    source = Random(seed)
    for _ in range(60):
        world = _tangle(source)
        assert _fell(soil, world) == cascade(world.graph(), world.seeds), world


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_rules_on_larger_graphs(soil: Soil, seed: int) -> None:
    """Circles and ranks deep enough that standing is lost and found again in waves."""
    source = Random(seed)
    count = source.choice((60, 400, 1_500))
    validities = (Validity.CURRENTLY_VALID,) * 9 + tuple(Validity)
    kinds = (EdgeType.SUPPORTED_BY, *EdgeType) if seed % 2 else tuple(EdgeType)
    reach = source.choice((5, 50, count))
    nodes: list[Node] = [(id, v, v, 0) for id, v in enumerate(source.choices(validities, k=count))]
    edges: list[Edge] = []
    for target in range(count):
        for _ in range(source.randrange(5)):
            near = (target + source.randint(-reach, reach // 4)) % count
            edges.append((near, target, source.choice(kinds)))
    roots = dict.fromkeys(source.sample(range(count), 3), Validity.INVALID)
    seeds = Seeds(roots=roots, touched=[5], passing=source.sample(edges, 5))
    world = World(nodes, edges, seeds)

    assert _fell(soil, world) == cascade(world.graph(), seeds)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_case(soil: Soil, case: Case) -> None:
    nodes = {node["id"]: node for node in case["nodes"]}
    asked = case["invalidate"]
    root = nodes[asked["root"]]
    fleet: list[Node] = [
        (node["id"], Validity[node["validity"]], Validity[node["validity"]], int(node["pinned"]))
        for node in nodes.values()
        if (node["tenant"], node["fleet"]) == (root["tenant"], root["fleet"])
    ]
    edges: list[Edge] = [
        (edge["source"], edge["target"], EdgeType[edge["type"]]) for edge in case["edges"]
    ]
    seeds = Seeds(roots={asked["root"]: Validity[asked["effect"]]})

    found = _fell(soil, World(fleet, edges, seeds))

    assert impacts_of(found) == case["expect"]["impacts"]


def _long(kind: EdgeType) -> Any:
    return pytest.param(kind, LONG, marks=pytest.mark.long, id=f"{kind.name}-{LONG}")


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (EdgeType.REQUIRES, 2_000),
        (EdgeType.SUPPORTED_BY, 1_000),
        _long(EdgeType.REQUIRES),
        _long(EdgeType.SUPPORTED_BY),
    ],
)
def test_long_chain(soil: Soil, kind: EdgeType, count: int) -> None:
    found = _fell(soil, _world_of(_chain(kind, 1, count)))

    assert found.nodes == list(range(1, count + 1))
    assert found.depths == list(range(count))
    assert found.path(count - 1) == found.nodes


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        (EdgeType.DERIVED_FROM, 2_000),
        _long(EdgeType.DERIVED_FROM),
        _long(EdgeType.SUPPORTED_BY),
    ],
)
def test_long_cycle(soil: Soil, kind: EdgeType, count: int) -> None:
    found = _fell(soil, _world_of([*_chain(kind, 1, count), (count, 1, kind)]))

    assert found.nodes == list(range(1, count + 1))
    assert found.depths[-1] == count - 1


def test_layers_with_a_trillion_paths(soil: Soil) -> None:
    width, depth = 10, 12
    layers = [range(2 + width * layer, 2 + width * (layer + 1)) for layer in range(depth)]
    edges: list[Edge] = [(1, node, EdgeType.REQUIRES) for node in layers[0]]
    for upper, lower in pairwise(layers):
        edges += [(one, other, EdgeType.REQUIRES) for one in upper for other in lower]

    found = _fell(soil, _world_of(edges))

    assert len(found) == 1 + width * depth


def test_a_chain_that_is_raised_again_and_again(soil: Soil) -> None:
    """Each node is reached mildly by a short way first: depths change when the long one comes."""
    count = 200
    edges = _chain(EdgeType.REQUIRES, 1, count)
    edges += [(1, node, EdgeType.OBSERVED_FROM) for node in range(3, count, 7)]
    edges += [(node, node + 1, EdgeType.DERIVED_FROM) for node in range(5, count, 3)]
    world = _world_of(edges)

    found = _fell(soil, world)

    assert found == cascade(world.graph(), INVALID)
    assert found.depths[-1] == count - 1


def test_supporters_of_one_node_fall_one_by_one(soil: Soil) -> None:
    count = 300
    hub = count + 1
    edges = _chain(EdgeType.REQUIRES, 1, count)
    edges += [(node, hub, EdgeType.SUPPORTED_BY) for node in range(1, count + 1)]
    edges += _chain(EdgeType.SUPPORTED_BY, hub, hub + count)
    world = _world_of(edges)

    assert _fell(soil, world) == cascade(world.graph(), INVALID)


def test_circles_of_support_fall_with_their_last_ground(soil: Soil) -> None:
    count = 300
    edges = _chain(EdgeType.SUPPORTED_BY, 10, 10 + count)
    edges += [(target, source, kind) for source, target, kind in edges]
    edges += [(2, 10, EdgeType.SUPPORTED_BY), (3, 10 + count, EdgeType.SUPPORTED_BY)]
    edges += [(1, 2, EdgeType.REQUIRES), (2, 3, EdgeType.REQUIRES)]
    world = _world_of(edges)

    assert _fell(soil, world) == cascade(world.graph(), INVALID)


@settings(max_examples=100)
@given(world=worlds())
def test_a_run_over_its_limit_is_refused(soil: Soil, world: World) -> None:
    size = len(cascade(world.graph(), world.seeds))

    assert len(_fell(soil, world, limit=size)) == size
    if size:
        with pytest.raises(RunTooLarge):
            _fell(soil, world, limit=size - 1)


def test_a_run_of_another_fleet_sees_none_of_this_one(soil: Soil) -> None:
    edges = _chain(EdgeType.REQUIRES, 1, 5)
    with soil.planted([(node, 1, 1, 0) for node in range(1, 6)], edges) as graph:
        execute = graph.connection.exec_driver_sql
        execute("CALL cascade_prepare()")
        execute("INSERT INTO seed_root VALUES (1, 4)")
        execute("CALL cascade_rounds(?, ?, 1000)", (TENANT, OTHER_FLEET))
        execute("CALL cascade_impacts(?, ?)", (TENANT, OTHER_FLEET))

        assert execute("SELECT COUNT(*) FROM cascade_impact").scalar_one() == 0
        assert len(graph.fell(INVALID)) == 5


def test_history_costs_no_reads(soil: Soil) -> None:
    """A run looks at as many rows with twenty closed versions a node as with none."""
    source = Random(7)
    kinds = (EdgeType.SUPPORTED_BY, *EdgeType)
    edges: list[Edge] = [
        (source.randrange(max(1, target - 50), target), target, source.choice(kinds))
        for target in range(2, 500)
        for _ in range(3)
    ]
    with soil.planted([(node, 1, 1, 0) for node in range(1, 500)], edges) as graph:
        graph.fell(INVALID)  # the procedures are read in
        start = graph.reads()
        fresh = graph.fell(INVALID)
        middle = graph.reads()
        for version in range(20):
            graph.profile.pin(graph.connection, 1_900_000_000_000_000 + version)
            graph.connection.exec_driver_sql(
                "UPDATE node_state SET run_id = ? WHERE tenant_id = ? AND fleet_id = ?",
                (version, TENANT, FLEET),
            )
        before = graph.reads()
        assert graph.fell(INVALID) == fresh
        after = graph.reads()

    assert len(fresh) > 400
    assert _difference(before, after) == _difference(start, middle)


def _difference(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: after[name] - before[name] for name in before}


def test_a_full_heap_is_an_error_that_changes_nothing(soil: Soil) -> None:
    nodes: list[Node] = [(node, 1, 1, 0) for node in range(1, 2_000)]
    with soil.planted(nodes, _chain(EdgeType.REQUIRES, 1, 1_999)) as graph:
        execute = graph.connection.exec_driver_sql
        execute("CALL cascade_prepare()")
        usual = execute("SELECT @@SESSION.max_heap_table_size").scalar_one()
        execute("SET SESSION max_heap_table_size = 16384")
        execute("CREATE OR REPLACE TEMPORARY TABLE raised LIKE frontier")
        execute("INSERT INTO seed_root VALUES (1, 4)")
        with pytest.raises(DBAPIError, match=r"\(1114\)"):
            execute("CALL cascade_rounds(?, ?, 1000000)", (TENANT, FLEET))
        execute(f"SET SESSION max_heap_table_size = {usual}")

        assert len(graph.fell(INVALID)) == 1_999


def test_a_run_leaves_the_session_as_it_was(soil: Soil) -> None:
    with soil.planted([(1, 1, 1, 0)], []) as graph:
        execute = graph.connection.exec_driver_sql
        execute("SET SESSION max_heap_table_size = 1048576")
        graph.fell(INVALID)

        assert execute("SELECT @@SESSION.max_heap_table_size").scalar_one() == 1_048_576
        execute("SET SESSION max_heap_table_size = DEFAULT")


def test_the_transaction_goes_on_after_a_refusal(soil: Soil) -> None:
    world = _world_of([(1, 2, EdgeType.REQUIRES)])
    with soil.planted(world.nodes, world.edges) as graph:
        with pytest.raises(RunTooLarge):
            graph.fell(INVALID, limit=1)

        assert graph.fell(INVALID) == cascade(world.graph(), INVALID)
