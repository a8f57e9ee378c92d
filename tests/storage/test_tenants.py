"""A row of another tenant or fleet is met by no statement, and by no use case."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.claim_revalidations import extend_lease, requeue_revalidation
from retrograph.resolvers.complete_revalidation import Completion, Outcome, complete_revalidation
from retrograph.resolvers.episodes import promote_episode
from retrograph.resolvers.inputs import EdgeInput, Invalidation, NodeInput, OnChange, Supersession
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.repair_node import repair_node
from retrograph.resolvers.retire_episodes import Retirement, retire_episodes
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.supersede import supersede
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import NotFound
from retrograph.sql.loader import migrations, queries
from retrograph.storage.mariadb.migrations import statements
from retrograph.storage.prepared import prepared
from retrograph.storage.records import NodeRef
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.dump import dump_fleet
from tests.episodes import DONE, Episodes
from tests.memory import NEW, Memory, ref
from tests.shared import ROOT
from tests.storage.scoping import TABLES, astray, unbound
from tests.storage.tour import Made, read_all, read_impacts, reads, write_all
from tests.work import TOKEN

BUILDER = type(prepared(lambda frame: text("")))
BOUND = "SELECT 1 FROM node AS n, run AS s WHERE n.tenant_id = ? AND n.fleet_id = ?"


@contextmanager
def recording() -> Iterator[set[str]]:
    """Collects the text of every statement that any engine executes."""
    seen: set[str] = set()

    def note(connection: Any, cursor: Any, sql: str, *_: Any) -> None:
        seen.add(sql)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def prepared_statements() -> dict[str, Any]:
    """Every builder of a statement in storage that is built once and kept, by its name."""
    room = ROOT / "storage"
    paths = (file.relative_to(room).with_suffix("") for file in room.rglob("*.py"))
    modules = (import_module(".".join(("retrograph.storage", *path.parts))) for path in paths)
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, BUILDER) and is_statement(value, module.__name__)
    }


def is_statement(builder: Any, module: str) -> bool:
    of_frame = "frame" in inspect.signature(builder).parameters
    return of_frame and builder.__module__ == module


def plain(statement: str) -> str:
    """A statement without comments, spaces that don't matter, and names of parameters."""
    bare = re.sub(r"--[^\n]*", "", statement)
    return " ".join(re.sub(r":\w+", "?", bare).split())


@pytest.fixture
def other(store: Store) -> Scope:
    """A caller of tenant 2."""
    store.write_all(2, [1], lambda _: None)
    return Scope(store, 2, None, frozenset(Role))


@pytest.mark.needs("names_of_python")
def test_every_statement_keeps_to_its_tenant_and_fleet(
    scope: Scope, store: Store, clock: ManualClock
) -> None:
    builders = prepared_statements()
    for builder in builders.values():
        builder.cache_clear()
    with recording() as seen:
        made = write_all(scope, 1)
        clock.advance()
        for at in (None, made.began):
            read_all(scope, 1, made, at)
        read_impacts(scope, 1, made)
        store.poll()
        scope.held_fleets()

    assert [name for name, builder in builders.items() if not builder.cache_info().currsize] == []
    sent = {plain(each) for each in seen}
    named = {plain(each) for each in queries(store._profile.name).values()}
    assert named - sent == set()
    assert {each: names for each in sorted(seen) if (names := astray(each))} == {}


def test_every_statement_of_the_procedures_keeps_to_its_tenant_and_fleet() -> None:
    bodies = [
        part
        for step in migrations("mariadb")
        for statement in statements(step.text)
        if "PROCEDURE" in statement
        for part in statement.split(";")
    ]
    assert sum(any(name in body for name in TABLES) for body in bodies) > 20
    assert [body for body in bodies if unbound(body)] == []


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("SELECT id FROM node WHERE id = ?", ["node"]),
        ("SELECT n.id FROM node AS n WHERE n.tenant_id = ?", ["n"]),
        ("SELECT n.id FROM node AS n WHERE +n.tenant_id = ? AND +n.fleet_id = ?", []),
        ("UPDATE run SET status = 2 WHERE run.fleet_id = ?", ["run"]),
        ("DELETE FROM edge WHERE tenant_id = ? AND fleet_id IN (?, ?)", []),
        ("INSERT INTO outbox (tenant_id, fleet_id, at) VALUES (?, ?, ?)", []),
        ("INSERT INTO outbox (fleet_id, at) VALUES (?, ?)", ["outbox"]),
        ("INSERT INTO outbox (tenant_id, fleet_id) SELECT tenant_id, fleet_id FROM run", ["run"]),
        ("SELECT 1 FROM edge FOR SYSTEM_TIME AS OF from_unixtime(? * 0.000001) AS e", ["e"]),
        (f"{BOUND} AND s.id = n.id", []),
        (f"{BOUND} AND s.id > n.id", ["s"]),
        (f"{BOUND} AND n.id IN (SELECT s.id FROM run AS s)", ["s"]),
        (
            "SELECT id FROM node WHERE tenant_id = ? AND fleet_id = ? UNION ALL SELECT id FROM run",
            ["run"],
        ),
    ],
)
def test_what_counts_as_kept(statement: str, names: list[str]) -> None:
    assert unbound(statement) == names


def test_another_tenants_ids_find_nothing(scope: Scope, other: Scope, store: Store) -> None:
    made = write_all(scope, 1)
    write_all(other, 1)
    mine = read_all(other, 1, made, None)
    store.write(2, 1, lambda _: None)
    assert not mine["nodes by id"].rows  # type: ignore[attr-defined]
    for name in ("nodes loaded", "edges loaded", "runs loaded"):
        assert mine[name] == {}
    assert mine["node by id"] is None
    for name in ("histories", "impacts", "edges out of", "edges into", "a walk"):
        assert all(not page.rows for page in mine[name].values())  # type: ignore[attr-defined]
    assert not any(mine["evidence"].values())  # type: ignore[attr-defined]
    assert not any(mine["impact paths"].values())  # type: ignore[attr-defined]


def test_equal_keys_of_two_tenants_and_two_fleets_are_different_nodes(
    scope: Scope, other: Scope
) -> None:
    scopes = [(scope, 1), (scope, 2), (other, 1)]
    scope.store.write_all(1, [2], lambda _: None)
    made = [write_all(caller, fleet) for caller, fleet in scopes]
    assert len({id for each in made for id in each.nodes}) == 3 * len(made[0].nodes)
    for (caller, fleet), own in zip(scopes, made, strict=True):
        node = reads(fleet, own, None)["node by key"](caller)
        assert node.id == own.nodes[0]  # type: ignore[attr-defined]


def writes(made: Made) -> dict[str, Callable[[Scope], object]]:
    """Writes that name, by its ids, what is another tenant's."""
    node, target = (NodeRef(id=id) for id in made.nodes[:2])
    own = NodeInput("own", kind=NEW)
    return {
        "put": lambda s: put_nodes(
            s, 1, [NodeInput(id=made.nodes[0], payload="taken")], OnChange.KEEP
        ),
        "link": lambda s: link_nodes(s, 1, [EdgeInput(node, target, EdgeType.OBSERVED_FROM)]),
        "link to": lambda s: link_nodes(s, 1, [EdgeInput(ref("own"), target, EdgeType.REQUIRES)]),
        "unlink": lambda s: unlink_nodes(s, 1, [made.edges[1]]),
        "pin": lambda s: pin_node(s, 1, node, pinned=True),
        "evidence": lambda s: add_evidence(s, 1, node, "urn:taken"),
        "invalidate": lambda s: invalidate(s, 1, Invalidation(node, "taken")),
        "supersede": lambda s: supersede(s, 1, Supersession(node, own, "taken")),
        "revert": lambda s: revert_run(s, 1, made.run),
        "repair": lambda s: repair_node(s, 1, node, "taken"),
        "complete": lambda s: complete_revalidation(
            s, 1, Completion(made.task, TOKEN, Outcome.VERIFIED)
        ),
        "extend": lambda s: extend_lease(s, 1, made.task, TOKEN),
        "requeue": lambda s: requeue_revalidation(s, 1, made.task),
        "promote": lambda s: promote_episode(s, 1, made.episode, DONE),
        "retire": lambda s: retire_episodes(s, 1, Retirement("taken", [made.episode])),
        "base an episode": lambda s: Episodes(Memory(s)).store([1], based_on=[node]),
    }


@pytest.mark.parametrize("name", writes(Made((1, 2, 3, 4), (1, 2, 3), 1, 0, 1)))
def test_another_tenants_ids_change_nothing(scope: Scope, other: Scope, name: str) -> None:
    made = write_all(scope, 1)
    put_nodes(other, 1, [NodeInput("own", kind=NEW)], OnChange.KEEP)
    fleets = [(1, 1), (2, 1)]
    before = [dump_fleet(scope.store, *fleet) for fleet in fleets]
    with pytest.raises(NotFound):
        writes(made)[name](other)
    assert [dump_fleet(scope.store, *fleet) for fleet in fleets] == before
