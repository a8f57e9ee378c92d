"""`retireEpisodes`: takes episodes out of recall, with what was derived from them in the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from retrograph.resolvers.episode_inputs import INPUT, Source
from retrograph.resolvers.episodes import require_episodes
from retrograph.resolvers.scope import Scope
from retrograph.rules.cascade import Seeds, cascade
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import MAX_FIRST, check_batch, check_text
from retrograph.rules.names import check_name
from retrograph.rules.reflection import EpisodeStatus
from retrograph.rules.validity import Validity
from retrograph.storage.cascades import RunOrder, record_run
from retrograph.storage.episode_records import EpisodeFilter, EpisodeRecord, EpisodeState
from retrograph.storage.episode_writes import retire, set_states
from retrograph.storage.episodes import episodes_by_id, former_states, page_episodes
from retrograph.storage.nodes import present
from retrograph.storage.records import RunRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.write import Write

_LASTING = frozenset({EpisodeStatus.QUARANTINED, EpisodeStatus.ACTIVE, EpisodeStatus.MERGED})


@dataclass(frozen=True, slots=True)
class Retirement:
    """What is to be retired: episodes by id, or all that came from a source; and why, by whom."""

    reason: str
    ids: Sequence[int] = ()
    source: Source | None = None
    by: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class EpisodesRetired:
    """What a retirement has done, or, on a dry run, would do.

    `restored` are episodes that a retired axiom had merged, and that stay; `runs` the cascades
    from the nodes that said what the episodes say, `fallen` how many nodes these reach, each
    counted once however many runs do.
    """

    instant: int
    dry_run: bool
    retired: list[EpisodeRecord]
    restored: list[EpisodeRecord]
    runs: list[RunRecord]
    fallen: int


@dataclass(frozen=True, slots=True)
class _Plan:
    retired: list[int]
    restored: list[int]
    roots: list[int]


def retire_episodes(scope: Scope, fleet_id: int, given: Retirement) -> EpisodesRetired:
    """Retires episodes and fells the nodes that said what they say, in one transaction.

    An axiom that merged one of them goes, too; what else it had merged is active again, on the
    sign-off that it had, if the axiom stood until now: what was retired as an axiom stays out with
    it.  What is retired already stays so.  Raises `InvalidInput`, `NotFound`, `RunTooLarge`.
    """
    _check(given)
    if given.dry_run:
        with scope.snapshot(fleet_id) as snapshot:
            return _preview(scope, snapshot, given)
    return scope.write(fleet_id, lambda write: _retire(write, given))


def _check(given: Retirement) -> None:
    check_text(given.reason, (*INPUT, "reason"))
    if given.by is not None:
        check_name(given.by, (*INPUT, "by"))
    if bool(given.ids) == (given.source is not None):
        raise InvalidInput(
            "Name episodes by their ids, or their source: one of the two.", path=INPUT
        )
    check_batch(max(1, len(given.ids)), field=(*INPUT, "ids"))
    if given.source is not None:
        named = {"execution": given.source.execution, "agent": given.source.agent}
        if all(each is None for each in named.values()):
            raise InvalidInput("Name an execution or an agent.", path=(*INPUT, "source"))
        for name, value in named.items():
            if value is not None:
                check_name(value, (*INPUT, "source", name))


def _preview(scope: Scope, s: Snapshot, given: Retirement) -> EpisodesRetired:
    plan = _plan(s, given)
    seeds = Seeds(roots=dict.fromkeys(plan.roots, Validity.INVALID))
    fallen = cascade(scope.store.graph(s), seeds).nodes if plan.roots else []
    return _told(s, given, plan, [], len(fallen))


def _retire(write: Write, given: Retirement) -> EpisodesRetired:
    plan = _plan(write.snapshot, given)
    retire(write, plan.retired, given.by, given.reason)
    set_states(write, _before_merging(write, plan.restored, given))
    fallen: set[int] = set()
    runs = [_fell(write, root, given.reason, fallen) for root in plan.roots]
    return _told(write.snapshot, given, plan, runs, len(fallen))


def _before_merging(
    write: Write, merged: Sequence[int], given: Retirement
) -> dict[int, EpisodeState]:
    """What merged episodes were; where an engine keeps no version so old, who retires decides."""
    unknown = EpisodeState(EpisodeStatus.ACTIVE, given.by, note=given.reason)
    return dict.fromkeys(merged, unknown) | former_states(write.snapshot, merged)


def _fell(write: Write, root: int, reason: str, fallen: set[int]) -> RunRecord:
    """Fells a node, and adds to `fallen` what falls: of several runs one may fell it further."""
    verdict = write.cascade(Seeds(roots={root: Validity.INVALID}))
    fallen.update(verdict.swept())
    return record_run(write, RunOrder(root, Validity.INVALID, reason), verdict)


def _plan(s: Snapshot, given: Retirement) -> _Plan:
    named = (
        require_episodes(s, list(dict.fromkeys(given.ids)), (*INPUT, "ids"))
        if given.source is None
        else list(_of_source(s, given.source))
    )
    chosen = {each.id: each for each in named}
    axioms = _axioms_of(s, named)
    standing = {id: axiom for id, axiom in axioms.items() if _stands(axiom, axioms, chosen)}
    members = {id for axiom in standing.values() for id in axiom.content.members}
    merged = episodes_by_id(s, members - chosen.keys() - axioms.keys())
    restored = [id for id, each in merged.items() if each.state.axiom_id in standing]
    lasting = {id: e for id, e in (chosen | axioms).items() if e.state.status in _LASTING}
    nodes = (each.content.node_id for each in lasting.values())
    roots = present(s, {node for node in nodes if node is not None})
    return _Plan(sorted(lasting), sorted(restored), sorted(roots))


def _axioms_of(s: Snapshot, episodes: Collection[EpisodeRecord]) -> dict[int, EpisodeRecord]:
    """The axioms that have merged some episodes, and those that have merged these, and so on."""
    found: dict[int, EpisodeRecord] = {}
    while ids := {e.state.axiom_id for e in episodes if e.state.axiom_id is not None} - {*found}:
        further = episodes_by_id(s, ids)
        found |= further
        episodes = further.values()
    return found


def _stands(
    axiom: EpisodeRecord, axioms: Mapping[int, EpisodeRecord], named: Collection[int]
) -> bool:
    """Whether what an axiom says is told until now: by itself, or by the axiom that merged it.

    One that is retired, or named to be, took what it says out of recall for all its members.
    """
    while axiom.id not in named and axiom.state.axiom_id is not None:
        axiom = axioms[axiom.state.axiom_id]
    return axiom.id not in named and axiom.state.status is EpisodeStatus.ACTIVE


def _of_source(s: Snapshot, source: Source) -> Iterator[EpisodeRecord]:
    wanted = EpisodeFilter(None, _LASTING, source.execution, source.agent)
    after: int | None = None
    while True:
        page = page_episodes(s, wanted, MAX_FIRST, after)
        yield from page.rows
        if not page.has_next:
            return
        after = page.rows[-1].id


def _told(
    s: Snapshot, given: Retirement, plan: _Plan, runs: list[RunRecord], fallen: int
) -> EpisodesRetired:
    found = episodes_by_id(s, [*plan.retired, *plan.restored])
    return EpisodesRetired(
        s.instant,
        given.dry_run,
        [found[id] for id in plan.retired],
        [found[id] for id in plan.restored],
        runs,
        fallen,
    )
