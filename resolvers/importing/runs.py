"""The runs that an import file asks for: checked before anything is written, run after it."""

from __future__ import annotations

from collections.abc import Mapping

from retrograph.resolvers.importing.batch import Batch, GivenRun
from retrograph.resolvers.importing.fields import BY
from retrograph.resolvers.importing.stream import Progress
from retrograph.resolvers.inputs import Invalidation, NodeInput, Supersession
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.puts import CHANGED_EFFECT, CHANGED_REASON, check_put
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.supersede import supersede
from retrograph.rules.errors import ImportRejected, ImportStopped, RetrographError
from retrograph.storage.records import NodeKind, NodeRecord, NodeRef, RunRecord

Kinds = dict[tuple[int, str | None], NodeKind | None]
"""The kinds of the nodes that will be there, by fleet and key."""

RunKey = tuple[int, int, str]
"""The root's id, the effect and the reason of a run."""

_NAMES = {inside: name for name, (inside, _) in BY.items()}


def check_runs(batch: Batch, stored: Mapping[int, Mapping[str, NodeRecord]]) -> None:
    """Raises `ImportRejected` for a run whose nodes will not be there when it is due.

    `stored` are the nodes at present, by fleet and key.  A node that an earlier line of the file
    puts in another's place counts.  Refused, too, is a run that gives a node another content than
    the rest of the file: each import of it would change the node there and back.
    """
    _check_contents(batch)
    kinds: Kinds = {
        (fleet_id, key): part.nodes[place].fields.get("kind")
        for fleet_id, part in batch.fleets.items()
        for key, place in part.keys.items()
        if place in part.nodes
    }
    kinds |= {(fleet, key): n.kind for fleet, nodes in stored.items() for key, n in nodes.items()}
    for run in batch.runs:
        if (run.fleet_id, run.key) not in kinds:
            raise batch.no_node(run.line, run.fleet_id, run.key)
        if run.by is not None:
            kinds[run.fleet_id, run.by.key] = _kind_of(run, run.by, kinds)


def own_runs(batch: Batch, fleet_id: int, stored: Mapping[str, NodeRecord]) -> set[RunKey]:
    """What the file's runs on stored nodes of a fleet are known by, once they were run.

    A supersession whose new node exists may have changed its content, which is a second run.
    """
    runs = [run for run in batch.runs if run.fleet_id == fleet_id]
    asked = {(stored[run.key].id, run.effect, run.reason) for run in runs if run.key in stored}
    new = {run.by.key for run in runs if run.by is not None and run.by.key is not None}
    return asked | {(stored[key].id, CHANGED_EFFECT, CHANGED_REASON) for key in new & stored.keys()}


def run_all(scope: Scope, batch: Batch, progress: Progress) -> list[RunRecord]:
    """Runs what the file asks for, in order, each in a transaction of its own.

    Raises `ImportStopped` at the first that fails.
    """
    done: list[RunRecord] = []
    for run in batch.runs:
        progress("Running", len(done), len(batch.runs))
        try:
            done.append(_run(scope, run))
        except RetrographError as error:
            raise ImportStopped(run.line, error.message) from error
    return done


def _run(scope: Scope, run: GivenRun) -> RunRecord:
    node = NodeRef(key=run.key)
    if run.by is None:
        return invalidate(scope, run.fleet_id, Invalidation(node, run.reason, run.effect))
    return supersede(scope, run.fleet_id, Supersession(node, run.by, run.reason))


def _check_contents(batch: Batch) -> None:
    """Raises `ImportRejected` where the file, its runs included, gives a field two values."""
    given: dict[tuple[int, str | None], dict[str, object]] = {}
    for run in batch.runs:
        if run.by is None:
            continue
        name = (run.fleet_id, run.by.key)
        if name not in given:
            given[name] = dict(batch.fields(*name))
        for field, value in check_put(run.by, ()).fields.items():
            if given[name].setdefault(field, value) != value:
                raise ImportRejected(
                    run.line,
                    f"supersede.by.{_NAMES[field]}: The file gives this node two contents; give "
                    "the same in all of its lines, or leave the field out here.",
                )


def _kind_of(run: GivenRun, by: NodeInput, kinds: Kinds) -> NodeKind:
    kind = kinds.get((run.fleet_id, by.key)) or by.kind
    if kind is None:
        raise ImportRejected(run.line, "supersede.by.kind: A new node needs a kind.")
    if by.kind not in (None, kind):
        raise ImportRejected(
            run.line, f"supersede.by.kind: The node is of the kind {kind.name} for ever."
        )
    return kind
