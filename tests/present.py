"""A simple model of a fleet's present: dictionaries, and the reference's cascades."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from retrograph.rules.cascade import ImpactKind, Seeds
from retrograph.rules.edge_type import PROPAGATING, EdgeType
from retrograph.rules.validity import Validity, is_healthy, severity
from tests.rules.cascade_reference import Edge, Reference


@dataclass(frozen=True)
class State:
    """`by` is the run that gave the state, `raised` the number of the deed that made it worse."""

    stored: int = Validity.CURRENTLY_VALID
    projected: int = Validity.CURRENTLY_VALID
    pinned: bool = False
    by: int | None = None
    raised: int = -1


@dataclass(frozen=True)
class Done:
    """A run: the number of its deed, and the states of the nodes it changed, before and after."""

    number: int
    before: dict[int, State]
    after: dict[int, State]
    reverts: bool = False


@dataclass
class Present:
    """Nodes by id."""

    states: dict[int, State] = field(default_factory=dict)
    says: dict[int, tuple[str | None, float]] = field(default_factory=dict)
    edges: dict[int, Edge] = field(default_factory=dict)
    runs: dict[int, Done] = field(default_factory=dict)
    reverted: set[int] = field(default_factory=set)
    judged: dict[int, int] = field(default_factory=dict)
    deeds: int = 0

    def copy(self) -> Present:
        """The present as it is now, to be set back to."""
        return replace(self, states=dict(self.states), says=dict(self.says), edges=dict(self.edges))

    def set_back(self, then: Present) -> None:
        """States, contents and edges are those of then; runs, and what was judged, stay."""
        self.deeds += 1
        now = then.copy()
        self.states, self.says, self.edges = now.states, now.says, now.edges

    def judge(self, validity: Validity, nodes: Iterable[int]) -> None:
        """A judgement, or a cut-off, heals nodes; no run accounts for it."""
        self.deeds += 1
        for node in nodes:
            state = self.states[node]
            stored = state.stored if state.pinned else validity
            self.states[node] = replace(state, stored=stored, projected=validity, by=None)
            self.judged[node] = self.deeds

    def rests_on_health(self, node: int) -> bool:
        """Whether all that passes something on to a node is healthy."""
        return all(
            is_healthy(self.states[source].projected)
            for source, target, kind in self.edges.values()
            if target == node and kind in PROPAGATING
        )

    def fell(self, run: int, seeds: Seeds) -> int:
        """Lets a cascade happen and returns the number of its impacts."""
        self.deeds += 1
        return self._apply(run, seeds, {})

    def link(self, run: int | None, edges: dict[int, Edge]) -> int | None:
        """New edges; the number of impacts of their run, or None where they start none."""
        self.edges |= edges
        fresh = list(edges.values())
        passing = [
            edge
            for edge in fresh
            if edge[2] in PROPAGATING and not is_healthy(self.states[edge[0]].projected)
        ]
        superseded = [target for _, target, kind in fresh if kind == EdgeType.SUPERSEDES]
        if run is None:
            assert not passing
            assert not superseded
            return None
        roots = dict.fromkeys(superseded, Validity.SUPERSEDED)
        return self.fell(run, Seeds(roots=roots, passing=passing))

    def unpin(self, run: int | None, node: int) -> None:
        state = self.states[node]
        self.deeds += 1
        after = replace(state, pinned=False, stored=state.projected)
        if state.stored != state.projected:
            assert run is not None
            after = replace(after, by=run, raised=self.deeds)
            self.runs[run] = Done(self.deeds, {node: state}, {node: after})
        self.states[node] = after

    def revert(self, old: int, run: int) -> tuple[list[int], list[int]]:
        """The nodes that are restored and those that are left alone, ascending."""
        done = self.runs[old]
        former = {node: self._former(node, old, done) for node in done.before}
        given = {node: state for node, state in former.items() if state is not None}
        passing = self._later_causes(done, given)
        was = dict(self.states)
        self.deeds += 1
        for node, state in given.items():
            worse = severity(state.projected) > severity(was[node].projected)
            self.states[node] = replace(state, raised=self.deeds) if worse else state
        self._apply(run, Seeds(passing=passing), was, set(given))
        self.reverted.add(old)
        restored = [node for node in given if self.states[node].by != run]
        return restored, [node for node in former if former[node] is None]

    def _apply(
        self, run: int, seeds: Seeds, was: dict[int, State], also: Iterable[int] = ()
    ) -> int:
        impacts = Reference(self._rows(), sorted(set(self.edges.values())), seeds).impacts()
        before: dict[int, State] = {node: was[node] for node in also}
        for node, kind, _, projected, _, stored, _ in impacts:
            if kind == ImpactKind.REEVALUATE:
                continue
            before.setdefault(node, was.get(node, self.states[node]))
            self.states[node] = replace(
                self.states[node], stored=stored, projected=projected, by=run, raised=self.deeds
            )
        if before or impacts:
            after = {node: self.states[node] for node in before}
            self.runs[run] = Done(self.deeds, dict(sorted(before.items())), after, bool(was))
        return len(impacts)

    def _rows(self) -> list[tuple[int, int, int, int]]:
        return [(n, s.stored, s.projected, int(s.pinned)) for n, s in self.states.items()]

    def _former(self, node: int, old: int, done: Done) -> State | None:
        if node not in self.states:
            return None
        now, before, after = self.states[node], done.before[node], done.after[node]
        same = (now.by, now.projected) == (after.by, after.projected)
        judged = self.judged.get(node, -1) > done.number
        if not same or judged or (now.by != old and not done.reverts):
            return None
        if before.pinned != after.pinned:
            return before
        # A pin keeps the stored state; without one it is what cascades had left.
        kept = now.stored if now.pinned else before.projected
        return replace(before, stored=kept, pinned=now.pinned)

    def _later_causes(self, done: Done, given: dict[int, State]) -> list[Edge]:
        return [
            edge
            for edge in self.edges.values()
            if edge[1] in given
            and edge[0] not in given
            and edge[2] in PROPAGATING
            and not is_healthy(self.states[edge[0]].projected)
            and self.states[edge[0]].raised > done.number
        ]
