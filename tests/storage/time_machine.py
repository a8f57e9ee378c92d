"""A machine of random writes and reads of one fleet, whose law is that the past is final.

Beside it runs a simple model of the present.  A write that is refused must leave no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.inputs import UNSET, EdgeInput, Invalidation, NodeInput, OnChange
from retrograph.resolvers.inputs import Supersession as Replacing
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.resolvers.nodes import list_nodes
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.previews import preview_invalidation
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.supersede import supersede
from retrograph.resolvers.unlink_nodes import unlink_nodes
from retrograph.rules.cascade import Seeds
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import RetrographError
from retrograph.rules.validity import Validity
from retrograph.storage.edges import page_edges
from retrograph.storage.filters import EdgeFilter, NodeFilter
from retrograph.storage.records import NodeKind, NodeRef, RunRecord, RunStatus
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.consistency import assert_consistent
from tests.dump import dump_fleet
from tests.observing import EFFECTS, Answers, observe
from tests.present import Present, State

T = TypeVar("T")
KEYS = st.sampled_from("abcdefgh")
TYPES = st.sampled_from((EdgeType.REQUIRES, EdgeType.REQUIRES, *EdgeType))
SOMETIMES = st.integers(0, 3).map(lambda number: number == 0)
PAYLOADS = st.sampled_from((UNSET, UNSET, None, 1, {"x": 1}))


class TimeMachine(RuleBasedStateMachine):
    """`store` and `clock` are set by the test; each example takes a fleet of its own."""

    store: ClassVar[Store]
    clock: ClassVar[ManualClock]
    fleets: ClassVar[count[int]]

    def __init__(self) -> None:
        super().__init__()
        self.fleet = next(self.fleets)
        self.scope = Scope(self.store, 1, None, frozenset(Role))
        self.store.write_all(1, [self.fleet], lambda _: None)
        self.others = self._of_another_tenant()
        self.present = Present()
        self.ids: dict[str, int] = {}
        self.requests: dict[str, tuple[Any, int]] = {}
        self.observed: dict[int, Answers] = {}
        self.past: dict[int, tuple[Present, dict[str, int]]] = {}

    @rule(step=st.sampled_from((-3_000_000, -1, 0, 1, 5, 2_000_000)))
    def move_the_clock(self, step: int) -> None:
        self.clock.advance(step)

    @rule(
        keys=st.lists(KEYS, min_size=1, max_size=3),
        payload=PAYLOADS,
        on_change=st.sampled_from(OnChange),
        old_version=SOMETIMES,
        kind=st.sampled_from((NodeKind.ASSERTION, NodeKind.ASSERTION, NodeKind.RULE)),
    )
    def put(
        self, keys: list[str], payload: Any, on_change: OnChange, old_version: bool, kind: NodeKind
    ) -> None:
        version = "0@0" if old_version else None
        inputs = [
            NodeInput(key, kind=kind, payload=payload, expected_version=version) for key in keys
        ]
        done = self.attempt(lambda: put_nodes(self.scope, self.fleet, inputs, on_change))
        if done is None:
            return
        assert len(set(keys)) == len(keys)
        changed = []
        for key, node in zip(keys, done.nodes, strict=True):
            says = (node.payload, node.base_confidence)
            if key in self.ids and self.present.says[node.id] != says:
                changed.append(node.id)
            self.ids.setdefault(key, node.id)
            self.present.says[node.id] = says
            self.present.states.setdefault(node.id, State())
        wanted = changed if on_change is OnChange.PROPAGATE else []
        assert [run.root_id for run in done.runs] == wanted
        for run in done.runs:
            self.check_run(run, self.present.fell(run.id, Seeds(touched=[run.root_id])))

    @rule(edges=st.lists(st.tuples(KEYS, KEYS, TYPES), min_size=1, max_size=3))
    def link(self, edges: list[tuple[str, str, EdgeType]]) -> None:
        inputs = [EdgeInput(ref(source), ref(target), kind) for source, target, kind in edges]
        done = self.attempt(lambda: link_nodes(self.scope, self.fleet, inputs))
        if done is None:
            return
        assert len(set(edges)) == len(edges)
        assert all(source != target for source, target, _ in edges)
        fresh = {
            edge.id: (edge.source_id, edge.target_id, int(edge.type))
            for edge in done.edges
            if edge.id not in self.present.edges
        }
        count = self.present.link(done.run.id if done.run else None, fresh)
        if done.run is not None:
            self.check_run(done.run, count)

    @rule(choice=st.integers(0, 20), unknown=SOMETIMES)
    def unlink(self, choice: int, unknown: bool) -> None:
        ids = pick(sorted(self.present.edges), choice)
        asked = [*ids, 10**12] if unknown else ids
        done = self.attempt(lambda: unlink_nodes(self.scope, self.fleet, asked))
        if done is not None:
            assert done.edge_ids == ids
            for edge_id in ids:
                del self.present.edges[edge_id]

    @rule(key=KEYS, pinned=st.booleans(), reason=st.sampled_from((None, "why")))
    def pin(self, key: str, pinned: bool, reason: str | None) -> None:
        done = self.attempt(
            lambda: pin_node(self.scope, self.fleet, ref(key), pinned=pinned, reason=reason)
        )
        if done is None:
            return
        node = done.node.id
        if pinned:
            was = self.present.states[node]
            self.present.states[node] = State(was.stored, was.projected, True, was.by, was.raised)
        else:
            self.present.unpin(done.run.id if done.run else None, node)

    @rule(key=KEYS, uri=st.sampled_from(("", "u", "v")), note=st.sampled_from((None, "x", "y")))
    def add_evidence(self, key: str, uri: str, note: str | None) -> None:
        self.attempt(lambda: add_evidence(self.scope, self.fleet, ref(key), uri, note))

    @rule(
        key=KEYS,
        effect=st.sampled_from((*EFFECTS, Validity.REVALIDATED)),
        token=st.sampled_from((None, None, "k", "l")),
        plan=st.sampled_from((None, "previewed", "another")),
    )
    def invalidate(self, key: str, effect: Validity, token: str | None, plan: str | None) -> None:
        expected = self.plan_of(key, effect) if plan == "previewed" else plan
        asked = Invalidation(
            ref(key), "wrong", effect, idempotency_key=token, expected_plan=expected
        )
        run = self.attempt(lambda: invalidate(self.scope, self.fleet, asked))
        if run is None or self.is_replay(token, asked, run):
            return
        assert plan != "another"
        seeds = Seeds(roots={self.ids[key]: effect})
        self.check_run(run, self.present.fell(run.id, seeds))

    @rule(old=KEYS, by=KEYS, payload=PAYLOADS, token=st.sampled_from((None, "k", "l")))
    def supersede(self, old: str, by: str, payload: Any, token: str | None) -> None:
        new = NodeInput(by, kind=NodeKind.ASSERTION, payload=payload)
        asked = Replacing(ref(old), new, "newer", idempotency_key=token)
        run = self.attempt(lambda: supersede(self.scope, self.fleet, asked))
        if run is None or self.is_replay(token, asked, run):
            return
        nodes = {node.key: node for node in self.nodes()}
        node = nodes[by]
        says = (node.payload, node.base_confidence)
        changed = by in self.ids and self.present.says[node.id] != says
        self.ids.setdefault(by, node.id)
        self.present.says[node.id] = says
        self.present.states.setdefault(node.id, State())
        edge = (node.id, self.ids[old], int(EdgeType.SUPERSEDES))
        if edge not in self.present.edges.values():
            self.present.edges[self.edge_id(edge)] = edge
        seeds = Seeds(roots={self.ids[old]: Validity.SUPERSEDED})
        self.check_run(run, self.present.fell(run.id, seeds))
        if changed:
            self.present.fell(run.id + 1, Seeds(touched=[node.id]))

    @rule(choice=st.integers(0, 30), unknown=SOMETIMES)
    def revert(self, choice: int, unknown: bool) -> None:
        runs = [] if unknown else pick(sorted(self.present.runs), choice)
        old = runs[0] if runs else 10**12
        done = self.attempt(lambda: revert_run(self.scope, self.fleet, old))
        if done is None:
            assert not runs or old in self.present.reverted or not self.present.runs[old].before
            return
        assert (done.restored, done.left_alone) == self.present.revert(old, done.run.id)

    @rule(choice=st.integers(0, 60), agreed=st.sampled_from((True, True, False)))
    def rewind(self, choice: int, agreed: bool) -> None:
        for to in pick(sorted(self.past), choice):
            words = confirmation(self.fleet, to) if agreed else None
            asked = Rewind(to, dry_run=False, confirm=words)
            done = self.attempt(partial(rewind_fleet, self.scope, self.fleet, asked))
            assert (done is not None) is agreed
            if done is not None:
                then, ids = self.past[to]
                self.present.set_back(then)
                self.ids = dict(ids)

    @rule()
    def observe_now(self) -> None:
        self.remember(self.scope.clock(self.fleet))

    @rule(back=st.integers(0, 3_000_000))
    def observe_the_past(self, back: int) -> None:
        self.remember(self.scope.clock(self.fleet) - back)

    @rule(choice=st.integers(0, 50))
    def ask_again(self, choice: int) -> None:
        for at in pick(sorted(self.observed), choice):
            assert observe(self.scope, self.fleet, at) == self.observed[at]

    @invariant()
    def the_present_is_that_of_the_model(self) -> None:
        nodes = self.nodes()
        assert {node.key: node.id for node in nodes} == self.ids
        assert {n.id: (n.validity, n.projected, n.pinned, n.run_id) for n in nodes} == {
            node: (state.stored, state.projected, state.pinned, state.by)
            for node, state in self.present.states.items()
        }
        self.past[self.scope.clock(self.fleet)] = (self.present.copy(), dict(self.ids))

    def teardown(self) -> None:
        for at, answers in self.observed.items():
            assert observe(self.scope, self.fleet, at) == answers
        assert_consistent(self.store, 1, self.fleet)
        assert dump_fleet(self.store, 2, self.fleet) == self.others

    def _of_another_tenant(self) -> Any:
        """A fleet of the same number and keys, and its open tasks: nothing here may touch them."""
        scope = Scope(self.store, 2, None, frozenset(Role))
        self.store.write_all(2, [self.fleet], lambda _: None)
        kind = NodeKind.ASSERTION
        put_nodes(scope, self.fleet, [NodeInput(key, kind=kind) for key in "ab"], OnChange.KEEP)
        edge = EdgeInput(ref("a"), ref("b"), EdgeType.DERIVED_FROM)
        link_nodes(scope, self.fleet, [edge])
        wrong = Invalidation(ref("a"), "theirs", Validity.DEFINITELY_STALE)
        invalidate(scope, self.fleet, wrong)
        return dump_fleet(self.store, 2, self.fleet)

    def attempt(self, act: Callable[[], T]) -> T | None:
        """A write: it takes a later instant, or is refused and changes nothing."""
        before = self.scope.clock(self.fleet)
        tables = dump_fleet(self.store, 1, self.fleet)
        try:
            answer = act()
        except RetrographError:
            assert dump_fleet(self.store, 1, self.fleet) == tables
            return None
        taken, expected = self.scope.clock(self.fleet), max(before + 1, self.clock.now)
        # A server's own clock has gone on with other fleets' writes, and is not set back.
        assert taken == expected or (self.store._profile.name == "mssql" and taken > expected)
        return answer

    def remember(self, at: int) -> None:
        answers = observe(self.scope, self.fleet, at)
        assert self.observed.setdefault(at, answers) == answers

    def nodes(self) -> Sequence[Any]:
        return list_nodes(self.scope, self.fleet, NodeFilter(), 1000).rows

    def edge_id(self, edge: tuple[int, int, int]) -> int:
        with self.scope.snapshot(self.fleet) as snapshot:
            rows = page_edges(snapshot, EdgeFilter(None, edge[0], edge[1]), 10, None).rows
        return next(row.id for row in rows if row.type == edge[2])

    def plan_of(self, key: str, effect: Validity) -> str | None:
        try:
            return preview_invalidation(self.scope, self.fleet, ref(key), effect, None).plan_hash
        except RetrographError:
            return None

    def is_replay(self, token: str | None, asked: Any, run: RunRecord) -> bool:
        if token is None:
            return False
        if token in self.requests:
            assert self.requests[token] == (asked, run.id)
            return True
        self.requests[token] = (asked, run.id)
        return False

    def check_run(self, run: RunRecord, impacts: int | None) -> None:
        assert run.impact_count == impacts
        assert run.status is (RunStatus.APPLIED if impacts else RunStatus.NO_CHANGE)


def ref(key: str) -> NodeRef:
    return NodeRef(key=key)


def pick(known: list[int], choice: int) -> list[int]:
    """One of what is known, if anything is."""
    return [known[choice % len(known)]] if known else []
