"""A cascade by the letter of the law: dictionaries, and everything anew in every round."""

from __future__ import annotations

from dataclasses import dataclass, field

from retrograph.rules.cascade import ImpactKind, Seeds
from retrograph.rules.validity import Validity

SEVERITY = {1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 6: 0}
RAISED = {1: Validity.POTENTIALLY_STALE, 2: Validity.DEFINITELY_STALE, 3: Validity.INVALID}
DERIVED_FROM, REQUIRES, CONTRADICTS, SUPERSEDES, VALID_ONLY_WHEN, SUPPORTED_BY, OBSERVED_FROM = (
    range(1, 8)
)
PLAIN_CEILING = {REQUIRES: 3, VALID_ONLY_WHEN: 3, DERIVED_FROM: 2, OBSERVED_FROM: 1}

Node = tuple[int, int, int, int]
Edge = tuple[int, int, int]
Impact = tuple[int, int, int, int, int, int, list[int]]
"""Node, kind, projected from and to, stored from and to, path."""


@dataclass
class Reference:
    nodes: list[Node]
    edges: list[Edge]
    seeds: Seeds
    cause: dict[int, tuple[int, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.projected = {node: projected for node, _, projected, _ in self.nodes}
        self.stored = {node: validity for node, validity, _, _ in self.nodes}
        self.pinned = {node for node, _, _, pinned in self.nodes if pinned}
        self.live = sorted(
            {
                (source, target, kind)
                for source, target, kind in self.edges
                if source in self.projected and target in self.projected and source != target
            }
        )
        self.before = {node: SEVERITY[v] for node, v in self.projected.items()}
        self.now = dict(self.before)
        self.passing = {
            edge for edge in self.seeds.passing if edge in self.live and self.before[edge[0]]
        }
        self.replaced = {
            root
            for root, effect in self.seeds.roots.items()
            if effect == Validity.SUPERSEDED
            and self.projected[root] == Validity.INVALID
            and root not in self.seeds.touched
        }

    def supporters(self, node: int) -> list[int]:
        return [s for s, t, kind in self.live if t == node and kind == SUPPORTED_BY]

    def standing(self) -> set[int]:
        stands: set[int] = set()
        while True:
            more = {
                node
                for node, severity in self.now.items()
                if severity == 0
                and (
                    not self.supporters(node)
                    or self.projected[node] == Validity.REVALIDATED
                    or node in self.pinned
                    or stands & set(self.supporters(node))
                )
            }
            if more == stands:
                return stands
            stands = more

    def effect(self, edge: Edge, stands: set[int]) -> int:
        source, target, kind = edge
        severity = self.now[source]
        if kind in PLAIN_CEILING:
            return min(PLAIN_CEILING[kind], severity)
        if kind != SUPPORTED_BY:
            return 0
        supporters = self.supporters(target)
        if stands & set(supporters):
            return 1 if severity >= 2 else 0
        return min(2, *(max(1, self.now[s]) for s in supporters))

    def raised(self, node: int) -> bool:
        return self.now[node] > self.before[node]

    def round(self, first: bool) -> bool:
        stands = self.standing()
        effects: dict[int, list[tuple[int, int]]] = {}
        for edge in self.live:
            source, target, kind = edge
            if self.raised(source) or edge in self.passing:
                effects.setdefault(target, []).append((self.effect(edge, stands), source))
            if first and source in self.seeds.touched and kind not in (CONTRADICTS, SUPERSEDES):
                effects.setdefault(target, []).append((1, source))
        rising = {}
        for target, given in effects.items():
            most = max(effect for effect, _ in given)
            if most > self.now[target] and target not in self.seeds.touched:
                source = min(source for effect, source in given if effect == most)
                rising[target] = most
                self.cause[target] = source, self.raised(source)
        self.now.update(rising)
        return bool(rising)

    def path(self, node: int) -> list[int]:
        path = [node]
        while path[-1] in self.cause:
            source, had_risen = self.cause[path[-1]]
            path.append(source)
            if not had_risen:
                break
        return path[::-1]

    def impacts(self) -> list[Impact]:
        given = {}
        for root, effect in self.seeds.roots.items():
            if SEVERITY[effect] > self.before[root] and root not in self.seeds.touched:
                given[root] = SEVERITY[effect]
        self.now.update(given)
        first = True
        while self.round(first):
            first = False
        paths = {node: self.path(node) for node in self.now if self.raised(node)}
        paths |= {node: [node] for node in self.replaced}
        found = [self.impact(node, path) for node, path in paths.items()]
        found += self.reevaluations(paths)
        return sorted(found, key=lambda impact: (len(impact[-1]), impact[0]))

    def impact(self, node: int, path: list[int]) -> Impact:
        after = self.seeds.roots[node] if len(path) == 1 else RAISED[self.now[node]]
        stored = self.stored[node]
        kind = ImpactKind.PINNED if node in self.pinned else ImpactKind.CHANGED
        stored_after = stored if node in self.pinned else after
        return node, kind, self.projected[node], after, stored, stored_after, path

    def reevaluations(self, paths: dict[int, list[int]]) -> list[Impact]:
        held: dict[int, list[list[int]]] = {}
        for source, target, kind in self.live:
            dead = self.raised(source) and self.now[source] == 3
            spared = target in paths or target in self.seeds.touched or not self.now[target]
            if kind in (CONTRADICTS, SUPERSEDES) and dead and not spared:
                held.setdefault(target, []).append(paths[source])
        return [
            (
                node,
                ImpactKind.REEVALUATE,
                self.projected[node],
                self.projected[node],
                self.stored[node],
                self.stored[node],
                [*min(ways, key=lambda path: (len(path), path[-1])), node],
            )
            for node, ways in held.items()
        ]
