"""However long a page is, and whatever hangs on its rows, it takes as many SQL statements.

Two things are the exception: what hangs on the nodes, runs and tasks of events is read once for
each instant, and a page of impacts of one kind once for each run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from graphql import (
    FieldNode,
    GraphQLObjectType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
    parse,
    visit,
)
from sqlalchemy import event

from retrograph.app import create_app
from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.commit_checkpoint import Commit, commit_checkpoint
from retrograph.resolvers.inputs import Invalidation, NodeInput
from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.schedule_invalidation import request_invalidation
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.instant import parse_instant
from retrograph.rules.validity import Validity
from retrograph.schema.schema import make_schema
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.episodes import Episodes
from tests.memory import NEW, Memory, ref
from tests.schema.serving import Served, serving
from tests.work import Work

FEW, MANY = 2, 9
LATER = "2030-01-01T00:00:00Z"

# Each for itself: what different branches want of the same kind is fetched together only where
# their answers happen to come at once.
OF_A_NODE = {
    "evidence": "evidence { uri }",
    "staleness": "staleness { run { id } path { id } blockedBy { id } }",
    "history": "history(first: $n) { nodes { id validFrom } edges { cursor node { id } } }",
    "outgoing": "outgoing(first: $n) { nodes { id source { key } } edges { node { id } } }",
    "incoming": "incoming(first: $n) { nodes { id target { key } } }",
    "dependents": "dependents(first: $n) { nodes { path node { key } } edges { node { depth } } }",
    "dependencies": "dependencies(first: $n) { nodes { depth node { key } } }",
}
IMPACTS = "impacts(first: $n) { nodes { path node { key } } edges { node { to } } }"
QUERIES = {
    **{
        name: f"""nodes(fleetId: 1, filter: {{keyPrefix: "middle"}}, first: $n) {{
            nodes {{ {inside} }} edges {{ node {{ id }} }} }}"""
        for name, inside in OF_A_NODE.items()
    },
    "edges": "edges(fleetId: 1, first: $n) { nodes { id source { key } target { key } } }",
    "paths": """paths(fleetId: 1, from: {key: "top"}, to: {key: "bottom"}, first: $n) {
        nodes { length nodes { key } edges { id } } edges { cursor node { length } } }""",
    "neighbourhood": """neighbourhood(fleetId: 1, roots: [{key: "top"}], first: $n) {
        nodes { key evidence { uri } } edges { id source { key } } }""",
    "changes": """changes(fleetId: 1, from: "2000-01-01T00:00:00Z", first: $n) {
        nodes { kind node { key } } edges { cursor } }""",
    "removed nodes": f"""changes(fleetId: 1, from: "{LATER}", first: $n) {{
        nodes {{ kind node {{ key }} }} }}""",
    "changed edges": """changes(fleetId: 1, from: "2000-01-01T00:00:00Z", first: $n) {
        nodes { kind edge { id source { key } } } }""",
    "events": """events(fleetId: 1, types: [NODE_STALE], first: $n) {
        nodes { cursor node { key } run { id } } edges { cursor } }""",
    "events of tasks": """events(fleetId: 1, types: [NODE_REVALIDATED], first: $n) {
        nodes { node { key } task { id } } }""",
    "tasks": """revalidationTasks(fleetId: 1, first: $n) {
        nodes { node { key } run { id } blockedBy { id } evidence { uri } path { id }
            standingSupporters { id } } edges { node { id } } }""",
    "decisions": """decisions(fleetId: 1, first: $n) {
        nodes { node { key } run { id } task { id } } edges { node { id } } }""",
    "scheduled": """scheduledInvalidations(fleetId: 1, first: $n) {
        nodes { root { key } run { id } } edges { node { id } } }""",
    "runs": f"""invalidationRuns(fleetId: 1, first: $n) {{
        nodes {{ id root {{ key }} reverts {{ id }} {IMPACTS} }} edges {{ node {{ id }} }} }}""",
    "run": """invalidationRuns(fleetId: 1, filter: {reason: "top"}, first: 1) {
        nodes { impacts(first: $n) { nodes { path node { key staleness { path { id } } } } } } }""",
    "checkpoints": """checkpoints(fleetId: 1, executionId: "plan", first: $n) {
        nodes { sequence payload basedOn { key } staleReads { id } }
        edges { node { hash } } }""",
    "executions": """executions(fleetId: 1, keyPrefix: "plan", first: $n) {
        nodes { executionId sequence } edges { cursor } }""",
    "steps": """steps(fleetId: 1, executionId: "plan", first: $n) {
        nodes { key result } edges { cursor } }""",
    "episodes": """episodes(fleetId: 1, first: $n) {
        nodes { entities { urn } basedOn { key } fallen { id } node { key } }
        edges { node { id } } }""",
    "recall": f"""recall(fleetId: 1, asOf: "{LATER}", input: {{
        domain: "d", embedding: [1, 0], topK: $n }}) {{
        episode {{ entities {{ urn }} basedOn {{ key }} fallen {{ id }} node {{ key }} }} }}""",
    "preview": f"""previewInvalidation(fleetId: 1, root: {{key: "sound"}}) {{ {IMPACTS} }}""",
}


@pytest.fixture(scope="module")
def served(shared_store: Store) -> Iterator[Served]:
    with serving(create_app(shared_store)) as running:
        yield running


@pytest.fixture(scope="module")
def wide(shared_store: Store, shared_clock: ManualClock) -> Memory:
    """Many of everything: of what was written at once, and of what came one by one."""
    memory = Memory(Scope(shared_store, 1, None, frozenset(Role)))
    names = ("lone", "well", "worn")
    lone, well, worn = ([f"{name}:{n}" for n in range(MANY + 3)] for name in names)
    memory.plant(*lone, "sound", *well, *worn)
    memory.link(*(f"sound REQUIRES {key}" for key in well))
    for key in lone:
        memory.fell(key)
    _fell_many_at_once(memory)
    _judge_each(memory, worn)
    _carry_out(memory, lone)
    for key in well:
        later = Invalidation(ref(key), "later", effective_at=shared_store.now() + 10**12)
        request_invalidation(memory.scope, memory.fleet, later)
    _learn(Episodes(memory), well)
    _come_and_go(memory, shared_clock)
    return memory


def _fell_many_at_once(memory: Memory) -> None:
    """Top, many in the middle, and bottom."""
    middle = [f"middle:{n}" for n in range(MANY + 3)]
    memory.plant("top", *middle, "bottom")
    memory.link(*(f"top REQUIRES {key}" for key in middle))
    memory.link(*(f"{key} DERIVED_FROM bottom" for key in middle))
    for key in middle:
        add_evidence(memory.scope, memory.fleet, ref(key), f"https://{key[-1]}.example")
    memory.fell("top", reason="top")


def _judge_each(memory: Memory, keys: Sequence[str]) -> None:
    work = Work(memory)
    for key in keys:
        memory.fell(key, Validity.DEFINITELY_STALE)
        work.judge(key)


def _carry_out(memory: Memory, keys: Sequence[str]) -> None:
    """An execution of many checkpoints, each based on a node that fell, and of as many steps."""
    for n, key in enumerate(keys):
        commit = Commit("plan", "session", n, "state", {"at": n}, "1", str(n), None, [ref(key)])
        commit_checkpoint(memory.scope, memory.fleet, commit)
        record_step(memory.scope, memory.fleet, Step("plan", str(n), StepStatus.STARTED))
        record_step(memory.scope, memory.fleet, Step(f"plan {n}", "step", StepStatus.STARTED))


def _learn(episodes: Episodes, keys: Sequence[str]) -> None:
    for n, key in enumerate(keys):
        episodes.learn([1, n / 100], "curl", based_on=[ref(key)], node=ref(key))


def _come_and_go(memory: Memory, clock: ManualClock) -> None:
    """Nodes that come before `LATER` and go after it, and runs that they are the roots of."""
    scope, fleet, instants = memory.scope, memory.fleet, []
    for n in range(MANY):
        instants.append(scope.clock(fleet))
        memory.put(NodeInput(f"gone:{n}", kind=NEW))
        memory.fell(f"gone:{n}")
    clock.now = parse_instant(LATER) + 1
    for to in reversed(instants):
        rewind_fleet(scope, fleet, Rewind(to, dry_run=False, confirm=confirmation(fleet, to)))


@contextmanager
def counting(store: Store) -> Iterator[list[str]]:
    """Collects the statements that reads execute, on any connection.

    But not those that tell a connection how long a statement may take: which of the pool's are
    told anew depends on the time that is left.
    """
    seen: list[str] = []

    def note(connection: object, cursor: object, text: str, *_: object) -> None:
        if not text.startswith("SET SESSION "):
            seen.append(text)

    with store.read(1, 1) as snapshot:
        engine = snapshot.connection.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("name", QUERIES)
def test_a_longer_page_takes_no_more_statements(name: str, served: Served, wide: Memory) -> None:
    query = f"query($n: Int!) {{ {QUERIES[name]} }}"
    served.ask(query, n=FEW)  # a graph is loaded once, and kept
    counts, sizes = [], []
    for first in (FEW, MANY):
        with counting(wide.store) as seen:
            sizes.append(str(served.ask(query, n=first).data).count("{"))
        counts.append(len(seen))
    assert sizes[1] > 1.5 * sizes[0]
    assert counts[0] == counts[1] > 0


def test_every_list_of_the_queries_is_counted() -> None:
    schema = make_schema()._schema
    info, asked = TypeInfo(schema), set[str]()

    class Noting(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            asked.add(f"{info.get_parent_type()}.{node.name.value}")

    for text in QUERIES.values():
        visit(parse(f"query($n: Int!) {{ {text} }}"), TypeInfoVisitor(info, Noting()))
    lists = {
        f"{name}.{field}"
        for name, kind in schema.type_map.items()
        if isinstance(kind, GraphQLObjectType) and not name.startswith("__")
        for field, held in kind.fields.items()
        if is_list_type(get_nullable_type(held.type))
        and is_composite_type(get_named_type(held.type))
    }
    of_mutations = {"NodesLinked.edges", "NodesPut.nodes", "NodesPut.runs"}
    of_mutations |= {"RunReverted.restored", "RunReverted.leftAlone", "NodeRepaired.tasks"}
    of_mutations |= {"NodeRepaired.restored", "RevalidationCompleted.restored"}
    of_mutations |= {"RevalidationsClaimed.tasks", "EntitiesRelated.relations"}
    of_mutations |= {f"EpisodesRetired.{field}" for field in ("runs", "retired", "restored")}
    of_one_row = {"registers", "hypotheses", "observations", "evictions"}
    assert lists - asked == of_mutations | {f"WorkingMemory.{field}" for field in of_one_row}
