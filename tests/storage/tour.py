"""A tour of every use case, write and read, on one fleet: what a caller can make a store do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from retrograph.resolvers import edges, events, nodes, previews, runs, tasks, walks
from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.check_upcasts import check_upcasts
from retrograph.resolvers.claim_revalidations import extend_lease, requeue_revalidation
from retrograph.resolvers.compact import compact_fleet
from retrograph.resolvers.complete_revalidation import Outcome
from retrograph.resolvers.episode_inputs import RecallRequest, Source
from retrograph.resolvers.episodes import relate_entities
from retrograph.resolvers.erase_checkpoints import Erasing, erase_checkpoints
from retrograph.resolvers.inputs import Invalidation, NodeInput, OnChange, Supersession
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.recall import recall
from retrograph.resolvers.record_step import Step, record_step
from retrograph.resolvers.retain_checkpoints import (
    Retention,
    delete_execution,
    retain_checkpoints,
)
from retrograph.resolvers.retention import RetentionRule, retain_fleet
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.rollback_execution import Rollback, rollback_execution
from retrograph.resolvers.schedule_invalidation import (
    cancel_scheduled,
    list_scheduled,
    request_invalidation,
)
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.supersede import supersede
from retrograph.resolvers.sweep import sweep_fleet
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.resolvers.updates import (
    list_matching_events,
    list_present,
    list_updates,
)
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.resolvers.working_memory import update_working_memory
from retrograph.resolvers.write_uses import write_uses
from retrograph.rules.cascade import ImpactKind
from retrograph.rules.checkpoint_errors import CheckpointRemoved
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.entity import RelationType
from retrograph.rules.errors import Overtaken
from retrograph.rules.validity import Validity
from retrograph.rules.working_memory import Observed, RegisterWrite, Update
from retrograph.storage.audience import Audience
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.claims import put_back
from retrograph.storage.decisions import page_decisions
from retrograph.storage.filters import NodeFilter, RunFilter, TaskFilter
from retrograph.storage.leaders import Lease
from retrograph.storage.queues import open_queues
from retrograph.storage.records import Direction, EventType, NodeKind, NodeRef, RunStatus
from retrograph.storage.relays import Arrived
from retrograph.storage.scheduled import ScheduledRecord
from retrograph.storage.subtrees import Subtree
from retrograph.storage.task_records import OPEN, TaskRecord, TaskStatus
from retrograph.storage.tasks import blocking, page_tasks
from retrograph.storage.update_records import Place
from retrograph.storage.write import Write
from tests.episodes import Episodes
from tests.executions import Execution
from tests.memory import NEW, Memory, ref
from tests.resolvers.files import edge, evidence, load, node
from tests.resolvers.files import invalidate as fall
from tests.storage.tour_memory import reads_of_memory
from tests.work import Work

Ids = tuple[int, ...]
TYPES = tuple(EdgeType)


@dataclass(frozen=True, slots=True)
class Made:
    """What the writes of a tour have made, by id; `began` lies amid them."""

    nodes: Ids
    edges: Ids
    run: int
    began: int
    task: int
    episode: int = 1


def write_all(scope: Scope, fleet: int) -> Made:
    """Writes by every use case, the import too."""
    memory = Memory(scope, fleet)
    load(scope, *_lines(), fleet=fleet)
    load(scope, *_lines(payload=2, validity="POTENTIALLY_STALE"), fleet=fleet)
    linked = memory.link("x REQUIRES y", "y SUPPORTED_BY z", "y SUPERSEDES old")
    began = scope.clock(fleet)
    memory.put(NodeInput("y", payload=7, confidence=0.5))
    put_nodes(scope, fleet, [NodeInput("free", kind=NEW)], OnChange.KEEP)
    for note in ("seen", "seen again"):
        add_evidence(scope, fleet, ref("x"), "urn:x", note)
    pin_node(scope, fleet, ref("y"), pinned=True, reason="asked for")
    asked = Invalidation(ref("x"), "wrong", idempotency_key="once")
    run = invalidate(scope, fleet, asked)
    assert invalidate(scope, fleet, asked).id == run.id
    pin_node(scope, fleet, ref("y"), pinned=False)
    revert_run(scope, fleet, run.id)
    supersede(scope, fleet, Supersession(ref("x"), NodeInput("x2", kind=NodeKind.RULE), "newer"))
    unlink_nodes(scope, fleet, [linked.edges[0].id])
    _bear_in_mind(scope, fleet)
    task = _judge_all(Work(memory))
    _remember(Execution(scope, fleet=fleet))
    _pass_time(memory)
    episode = _learn(Episodes(memory))
    made = memory.nodes()
    return Made(
        tuple(made[key].id for key in ("x", "y", "z", "old")),
        tuple(each.id for each in linked.edges),
        run.id,
        began,
        task,
        episode,
    )


def _bear_in_mind(scope: Scope, fleet: int) -> None:
    """Begins a session, and goes on with it."""
    for number in range(2):
        written = [RegisterWrite("invoice", number, pinned=True)]
        update = Update(goal="pay", registers=written, observations=[Observed("ls", "a")])
        update_working_memory(scope, fleet, "session", update)


def _learn(episodes: Episodes) -> int:
    """Stores, promotes, uses, merges and retires episodes; returns an active one."""
    memory = episodes.memory
    memory.put(NodeInput("basis", kind=NEW), NodeInput("said", kind=NEW))
    kept = episodes.learn([1, 0], "a", based_on=[ref("basis")], execution="x", agent="eve")
    relate_entities(memory.scope, memory.fleet, [("a", "b", RelationType.CAUSED_BY)])
    for _ in range(2):
        request = RecallRequest("d", [1, 0], ["b"], hops=1)
        recall(memory.scope, memory.fleet, request, is_use=True)
        write_uses(memory.store)
    for execution in ("y", "z"):
        episodes.learn([0, 1], node=ref("said"), execution=execution, agent="ann")
    compact_fleet(memory.scope, memory.fleet)
    episodes.retire(source=Source("y", "ann"))
    return kept


def _judge_all(work: Work) -> int:
    """Revalidates by every way there is; returns a task."""
    memory, scope, fleet = work.memory, work.memory.scope, work.memory.fleet
    memory.put(*(NodeInput(key, kind=NEW) for key in ("j1", "j2", "j3", "j4")))
    memory.link("j1 DERIVED_FROM j2", "j2 REQUIRES j3", "j3 SUPPORTED_BY j4")
    memory.fell("j1", Validity.DEFINITELY_STALE)
    memory.link("j3 OBSERVED_FROM j2")
    failed = work.complete(work.hold("j1"), Outcome.ERROR).task
    while failed.status is TaskStatus.BACKING_OFF:
        scope.write(fleet, partial(_make_ready, failed))
        failed = work.complete(work.hold("j1"), Outcome.ERROR).task
    requeue_revalidation(scope, fleet, failed.id)
    held = work.claim()["j1"]
    extend_lease(scope, fleet, held.id, held.lease_token or "")
    work.complete(held, Outcome.VERIFIED, unchanged=True)
    work.repair("j1", unchanged=True)
    memory.fell("j3", Validity.DEFINITELY_STALE)
    overtaken = work.hold("j3")
    memory.put(NodeInput("j2", payload=1), on_change=OnChange.KEEP)
    with suppress(Overtaken):
        work.complete(overtaken, Outcome.VERIFIED)
    work.judge("j3", Outcome.REFUTED)
    memory.put(NodeInput("k1", kind=NEW), NodeInput("k2", kind=NEW))
    memory.link("k1 DERIVED_FROM k2")
    memory.fell("k1", Validity.DEFINITELY_STALE)
    work.judge("k1", unchanged=True)
    return held.id


def _remember(run: Execution) -> None:
    """Commits, and commits again."""
    run.grow(2, based_on=[ref("y")])
    assert run.commit(1, based_on=[ref("y")]).replayed
    run.grow(2)
    scope, fleet = run.scope, run.fleet
    for status in (StepStatus.STARTED, StepStatus.SUCCEEDED):
        record_step(scope, fleet, Step(run.name, "pay", status))
    rollback_execution(scope, fleet, Rollback(run.name, 2, "back"))
    retain_checkpoints(scope, fleet, Retention(run.name, "me", "old", 2, scope.clock(fleet)))
    erase_checkpoints(scope, fleet, Erasing(run.name, "me", "asked to", [4], ["pay"]))
    assert list(retain_fleet(scope, fleet, RetentionRule(1, 10**15))) == []
    with suppress(CheckpointRemoved):
        run.get(1)
    for purge in (False, True):
        replace(run, name="gone").grow(1)
        delete_execution(scope, fleet, "gone", "me", "done with", purge=purge)
    assert verify_checkpoints(scope, fleet, run.name).fault is None
    assert all(each.fault is None for each in check_upcasts(scope))


def _pass_time(memory: Memory) -> None:
    """Schedules, sweeps, and takes back what came last."""
    scope, fleet = memory.scope, memory.fleet
    later = Invalidation(ref("z"), "later", effective_at=scope.store.now() + 10**12)
    waiting = request_invalidation(scope, fleet, replace(later, idempotency_key="later"))
    assert isinstance(waiting, ScheduledRecord)
    assert list_scheduled(scope, fleet, None, 50).rows == [waiting]
    sweep_fleet(scope, fleet)
    cancel_scheduled(scope, fleet, waiting.id)
    to = scope.clock(fleet)
    gone = memory.put(NodeInput("gone", kind=NEW)).nodes[0].id
    rewind_fleet(scope, fleet, Rewind(to))
    rewind_fleet(scope, fleet, Rewind(to, dry_run=False, confirm=confirmation(fleet, to)))
    assert nodes.load_known(scope, fleet, None, [gone])
    memory.put(NodeInput("gone", kind=NEW))
    lease, place = Lease("tour", "me", 1), (scope.clock(fleet), 0)
    scope.store.begin_relay(scope.tenant_id, lease, [fleet], place)
    scope.store.mark_relayed(lease, Arrived(scope.tenant_id, fleet, place, 1))
    scope.store.relay_progress(scope.tenant_id, "tour")
    scope.store.forget_relay(scope.tenant_id, lease, [fleet])


def _make_ready(failed: TaskRecord, write: Write) -> None:
    put_back(write, failed.id, TaskStatus.READY, attempt=failed.attempt)


def _lines(**more: object) -> list[tuple[str, dict[str, object]]]:
    lines = [node("x", **more), *(node(key) for key in ("y", "z", "w"))]
    lines += [node("old", kind="RULE", validity="INVALID", contractHash="h")]
    lines += [edge("z", "w", "DERIVED_FROM"), evidence("z", "urn:z", note=str(more))]
    return [*lines, fall("w", "gone")]


def reads(fleet: int, made: Made, at: int | None) -> dict[str, Callable[[Scope], object]]:
    """Every reading use case, by name, at an instant or at present."""
    return (
        _lists(fleet, made, at)
        | _of_the_graph(fleet, made, at)
        | _of_runs(fleet, made, at)
        | reads_of_memory(fleet, at)
    )


def _lists(fleet: int, made: Made, at: int | None) -> dict[str, Callable[[Scope], object]]:
    filters = {
        "": NodeFilter(),
        " of a kind": NodeFilter(kind=NodeKind.RULE),
        " by validity": NodeFilter(validity=frozenset({Validity.INVALID, Validity.SUPERSEDED})),
        " by pin": NodeFilter(pinned=False),
        " by id": NodeFilter(ids=frozenset(made.nodes)),
        " by key": NodeFilter(keys=frozenset({"x", "y"})),
        " by prefix": NodeFilter(key_prefix="x"),
    }
    ends = {
        "all": (None, None),
        "from": (ref("y"), None),
        "to": (None, ref("w")),
        "between": (ref("z"), ref("w")),
    }
    found: dict[str, Callable[[Scope], object]] = {}
    for name, filter in filters.items():
        found[f"nodes{name}"] = partial(_nodes, fleet, filter, at)
    for name, (source, target) in ends.items():
        found[f"edges {name}"] = partial(_edges, fleet, source, target, at)
    for name, outgoing in {"out of": True, "into": False}.items():
        found[f"edges {name}"] = partial(_around, fleet, made.nodes, outgoing, at)
    return found


def _of_the_graph(fleet: int, made: Made, at: int | None) -> dict[str, Callable[[Scope], object]]:
    first, both, roots = 50, Direction.BOTH, [ref("z"), ref("w")]
    return {
        "node by key": lambda s: nodes.get_node(s, fleet, ref("x"), at),
        "node by id": lambda s: nodes.get_node(s, fleet, NodeRef(id=made.nodes[0]), at),
        "nodes loaded": lambda s: nodes.load_known(s, fleet, at, made.nodes),
        "nodes then": lambda s: nodes.load_nodes_then(
            s, fleet, [(each, made.began) for each in made.nodes]
        ),
        "histories": lambda s: nodes.history_of(s, fleet, at, made.nodes, first),
        "evidence": lambda s: nodes.evidence_of(s, fleet, at, made.nodes),
        "staleness": lambda s: nodes.staleness_of(
            s, fleet, at, nodes.load_known(s, fleet, at, made.nodes).values()
        ),
        "edges loaded": lambda s: edges.load_edges(s, fleet, at, made.edges),
        "a walk": lambda s: walks.reached(s, fleet, at, made.nodes, both, 5, first),
        "a neighbourhood": lambda s: walks.neighbourhood(s, fleet, roots, both, 5, first, at),
        "paths": lambda s: walks.find_paths(s, fleet, ref("z"), ref("w"), None, 5, first, at=at),
        "a preview": lambda s: (
            previews.preview_invalidation(s, fleet, ref("z"), Validity.INVALID, at).cascade.nodes
        ),
        "changes": lambda s: list_changes(s, fleet, 0, at, first),
    }


def _of_runs(fleet: int, made: Made, at: int | None) -> dict[str, Callable[[Scope], object]]:
    first, applied = 50, RunFilter(frozenset({RunStatus.APPLIED}), made.nodes[0], "wrong")
    return {
        "runs then": lambda s: runs.load_runs_then(s, fleet, [(made.run, s.clock(fleet))]),
        "tasks then": lambda s: tasks.load_tasks_then(s, fleet, [(made.task, s.clock(fleet))]),
        "events": lambda s: events.list_events(s, fleet, None, None, first, at),
        "later events": lambda s: events.list_events(
            s, fleet, [EventType.NODE_STALE], (made.began, 0), first, at
        ),
        "updates": lambda s: list_updates(s, fleet, _audience(), Place(0, 0, 0), first),
        "a subtree": lambda s: _subtree(s, fleet, made, at),
        "runs": lambda s: runs.list_runs(s, fleet, RunFilter(), first, at=at),
        "runs that did": lambda s: runs.list_runs(s, fleet, applied, first, at=at),
        "runs loaded": lambda s: runs.load_runs(s, fleet, at, [made.run]),
        "impacts": lambda s: runs.impacts_of(s, fleet, at, [made.run], first),
        "impact paths": lambda s: runs.impact_paths(s, fleet, at, [(made.run, 0)], first),
        "tasks": lambda s: _tasks(s, fleet, TaskFilter(), at),
        "tasks by status": lambda s: _tasks(s, fleet, TaskFilter(frozenset(OPEN)), at),
        "tasks of a node": lambda s: _tasks(s, fleet, TaskFilter(node_id=made.nodes[0]), at),
        "open tasks": lambda s: tasks.open_tasks_of(s, fleet, at, made.nodes),
        "standing supporters": lambda s: tasks.standing_supporters_of(s, fleet, at, made.nodes),
        "what started a run": lambda s: tasks.decisions_of_runs(
            s, fleet, at, runs.load_runs(s, fleet, at, [made.run]).values()
        ),
    }


def _audience(root: int | None = None) -> Audience:
    return Audience(NodeFilter(), None if root is None else Subtree(root))


def _subtree(scope: Scope, fleet: int, made: Made, at: int | None) -> object:
    """Followed, and looked at."""
    audience, start = _audience(made.nodes[0]), scope.clock(fleet) if at is None else at
    return (
        list_updates(scope, fleet, audience, Place(0, 0, 0), 50),
        list_present(scope, fleet, audience, Place(start, 0, 0), 50),
        list_matching_events(scope, fleet, audience, None, (0, 0), 50),
    )


def _tasks(scope: Scope, fleet: int, filter: TaskFilter, at: int | None) -> object:
    with scope.snapshot(fleet, at) as s:
        page = page_tasks(s, filter, 50, None)
        around = blocking(s, page.rows), open_queues(s, s.instant)
        told = [page_decisions(s, None, 50, None), page_decisions(s, 1, 50, None)]
        return page, around, told


def _nodes(fleet: int, filter: NodeFilter, at: int | None, scope: Scope) -> object:
    return nodes.list_nodes(scope, fleet, filter, 50, at=at)


def _edges(
    fleet: int, source: NodeRef | None, target: NodeRef | None, at: int | None, scope: Scope
) -> object:
    return edges.list_edges(scope, fleet, None, source, target, 50, at=at)


def _around(fleet: int, ids: Ids, outgoing: bool, at: int | None, scope: Scope) -> object:
    return edges.edges_around(scope, fleet, at, ids, outgoing, TYPES, 50)


def read_all(scope: Scope, fleet: int, made: Made, at: int | None) -> dict[str, object]:
    """What every reading use case answers."""
    return {name: read(scope) for name, read in reads(fleet, made, at).items()}


def read_impacts(scope: Scope, fleet: int, made: Made) -> object:
    """The reads that name a run, which must be there."""
    by_kind = (None, ImpactKind.CHANGED)
    return [runs.list_impacts(scope, fleet, None, made.run, kind, 50) for kind in by_kind]
