"""Memory.InvalidateMemoryGraph decides what the rules decide, interpreted on SQLite.

No server executes it here: see the interpreter for what this can and can't tell.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from retrograph.rules.cascade import Cascade, ImpactKind, Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from tests.clock import ManualClock
from tests.rules.cascade_reference import Edge, Node
from tests.rules.cascade_strategies import EFFECTS, World, worlds
from tests.tsql.database import Database, ServerClock
from tests.tsql.errors import ServerError
from tests.tsql.session import Result, Row, Session
from tests.tsql.texts import batches, migration_texts
from tests.tsql.tree import Statement
from tests.tsql.values import instant_of_micros

FOLDERS: list[Path] = []
NOW = ManualClock()
RUN = 7
VALID = (1,) * 20
TYPES = tuple(EdgeType)
PROFILES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((1, 1, 1, 1, 2, 3, 4, 5, 6), TYPES),
    ((1, 1, 1, 1, 2, 3, 4, 5, 6), (6, 6, 1)),
    ((*VALID, 2, 3, 4, 5, 6), (6, 6, 6, 6, 2)),
    ((*VALID, 6, 3), (6, 6, 6, 6, 6, 6, 2)),
    ((1, 3), (3, 4, 2, 2)),
)
"""Validities of the nodes and types of the edges of a graph, as often as they are named."""
FIRST_EVENT = 3


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where the database lies."""
    FOLDERS.append(tmp_path_factory.mktemp("procedure"))
    yield
    session().close()
    session.cache_clear()


@cache
def session() -> Session:
    """A session of tenant 1 in a database with two fleets."""
    database = Database("procedure", FOLDERS[-1] / "procedure.db", ServerClock(NOW))
    made = Session(database, 51, implicit=False)
    for migration in migration_texts():
        for batch in batches(migration):
            run(batch.text, made)
    made.context["tenantid"] = 1, False
    run(
        "INSERT INTO Memory.Fleets (TenantId, FleetId, CreatedAt) VALUES (1, 1, '2026-03-01')", made
    )
    return made


def run(text: str, on: Session, **values: Any) -> list[Row]:
    """The rows of the last result of a batch."""
    *_, last = on.run(Statement("test", text), values) or [Result(None)]
    if isinstance(last, ServerError):
        raise last
    return last.rows


def load(nodes: list[Node], edges: list[Edge]) -> sqlite3.Connection:
    """The graph in fleet 1, and in fleet 2 what must not matter: the far ends, and more edges.

    In a transaction, which the next call undoes.
    """
    run("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION", session())
    run("BEGIN TRANSACTION", session())
    run("UPDATE Memory.Fleets SET CreatedAt = CreatedAt WHERE TenantId = 1", session())
    connection = session()._connection
    known = [node[0] for node in nodes]
    far = {(end,) for source, target, _ in edges for end in (source, target)} - {*zip(known)}
    names = "Nodes (Id, TenantId, FleetId, Validity, Projected, Pinned)"
    insert = f"INSERT INTO main.{names} VALUES (?, 1,"
    connection.executemany(f"{insert} 1, ?, ?, ?)", nodes)
    connection.executemany(f"{insert} 2, 1, 1, 0)", sorted(far))
    few = known[:20]
    others = [(2, source, target, int(EdgeType.REQUIRES)) for source in few for target in few]
    mine = [(1, source, target, int(kind)) for source, target, kind in sorted({*edges})]
    connection.executemany(
        "INSERT INTO main.Edges (TenantId, FleetId, SourceId, TargetId, Type, Id)"
        " VALUES (1, ?, ?, ?, ?, (SELECT COUNT(*) FROM main.Edges))",
        mine + others,
    )
    return connection


def invalidate(seeds: Seeds, **more: Any) -> list[Row]:
    """The impacts that the procedure hands out, by ordinal."""
    roots = [[node, int(effect)] for node, effect in seeds.roots.items()]
    values = {
        "TenantId": 1,
        "FleetId": 1,
        "RunId": RUN,
        "Roots": json.dumps(roots),
        "Passing": json.dumps([[*map(int, edge)] for edge in seeds.passing]),
        "Touched": json.dumps([[node] for node in seeds.touched]),
        "FirstOrdinal": FIRST_EVENT,
    } | more
    given = ", ".join(f"@{name} = @{name}" for name in values)
    text = f"EXEC Memory.InvalidateMemoryGraph {given}"
    bound = {name.lower(): value for name, value in values.items()}
    return sorted(run(text, session(), **bound))


def healthy(node: int) -> Node:
    return (node, int(Validity.CURRENTLY_VALID), int(Validity.CURRENTLY_VALID), 0)


def dense_world(source: random.Random) -> World:
    """A graph in which supporters support supporters, with all kinds of seeds at once."""
    ids = sorted(source.sample(range(1, 60), source.randrange(2, 18)))
    validities, types = source.choice(PROFILES)
    nodes: list[Node] = []
    for node in ids:
        stored, pinned = source.choice(validities), source.random() < 0.15
        projected = source.choice((stored, 2, 3, 4)) if pinned else stored
        nodes.append((node, stored, projected, int(pinned)))
    ends = [*ids, 99] if source.random() < 0.3 else ids
    edges: list[Edge] = [
        (source.choice(ends), source.choice(ids), source.choice(types))
        for _ in range(source.randrange(3 * len(ids)))
    ]
    return World(nodes, sorted({*edges}), seeds_of(source, ids, edges))


def seeds_of(source: random.Random, ids: list[int], edges: list[Edge]) -> Seeds:
    known = [edge for edge in edges if edge[0] in ids]
    way = source.randrange(10)
    rooted = ids[:0] if way > 6 else source.sample(ids, 1 if way else min(len(ids), 3))
    return Seeds(
        roots={node: source.choice(EFFECTS) for node in rooted},
        passing=source.sample(known, min(len(known), 3)) if 4 < way < 9 else [],
        touched=[source.choice(ids)] if way in {6, 9} else [],
    )


def rows_of(found: Cascade) -> list[Row]:
    columns = (found.nodes, found.kinds, found.before, found.after, found.causes, found.origins)
    return [*zip(range(len(found)), *columns, found.depths, strict=True)]


def compare(world: World) -> None:
    found = cascade(world.graph(), world.seeds)
    connection = load(world.nodes, world.edges)

    assert invalidate(world.seeds) == rows_of(found)

    changed = {
        node: (stored, projected, RUN, ordinal)
        for ordinal, (node, kind, stored, projected) in enumerate(
            zip(found.nodes, found.kinds, found.stored_after, found.after, strict=True)
        )
        if kind != ImpactKind.REEVALUATE
    }
    states = connection.execute(
        "SELECT Id, Validity, Projected, RunId, RunOrdinal FROM Nodes WHERE FleetId = 1"
    )
    kept = {node: (stored, projected, None, None) for node, stored, projected, _ in world.nodes}
    assert {node: (*state,) for node, *state in states} == kept | changed
    at = instant_of_micros(NOW())
    events = connection.execute(
        "SELECT At, Ordinal, Type, NodeId, RunId, RunOrdinal FROM InvalidationOutbox ORDER BY 2"
    ).fetchall()
    assert events == [
        (at, FIRST_EVENT + ordinal, kind, node, RUN, ordinal)
        for ordinal, (node, kind) in enumerate(zip(found.nodes, found.kinds, strict=True))
    ]


@settings(max_examples=60, deadline=None)
@given(world=worlds())
def test_the_procedure_equals_the_rules(world: World) -> None:
    compare(world)


@pytest.mark.parametrize("batch", range(5))
def test_the_procedure_equals_the_rules_on_dense_graphs(batch: int) -> None:
    for seed in range(batch * 200, batch * 200 + 200):
        compare(dense_world(random.Random(seed)))


@pytest.mark.long
def test_the_procedure_equals_the_rules_on_many_dense_graphs() -> None:
    for seed in range(1_000, 6_000):
        compare(dense_world(random.Random(seed)))


@pytest.mark.parametrize("closed", [False, True], ids=["chain", "cycle"])
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_long_chain_and_a_long_cycle(count: int, closed: bool) -> None:
    nodes = [healthy(node) for node in range(1, count + 1)]
    edges: list[Edge] = [(node, node + 1, EdgeType.REQUIRES) for node in range(1, count)]
    edges += [(count, 1, EdgeType.REQUIRES)] * closed
    compare(World(nodes, edges, Seeds(roots={1: Validity.INVALID})))


HEALTHY = [healthy(1), healthy(2), healthy(3)]
CHAIN: list[Edge] = [(1, 2, EdgeType.REQUIRES), (2, 3, EdgeType.REQUIRES)]
SEEDS = Seeds(roots={1: Validity.INVALID})


def refusal(seeds: Seeds, **more: Any) -> tuple[int, str]:
    connection = load(HEALTHY, CHAIN)
    with pytest.raises(ServerError) as caught:
        invalidate(seeds, **more)
    for table in ("InvalidationImpact", "InvalidationOutbox"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    return caught.value.number, caught.value.message


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_too_large_a_run_is_refused(limit: int) -> None:
    assert refusal(SEEDS, Limit=limit) == (51001, "RUN_TOO_LARGE")


def test_a_run_of_just_the_limit_is_not() -> None:
    load(HEALTHY, CHAIN)
    assert len(invalidate(SEEDS, Limit=3)) == 3


@pytest.mark.parametrize("seeds", [Seeds(roots={9: Validity.INVALID}), Seeds(touched=[9])])
def test_an_unknown_root_or_touched_node_is_refused(seeds: Seeds) -> None:
    assert refusal(seeds) == (51004, "NOT_FOUND")
