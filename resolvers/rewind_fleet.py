"""`rewindFleet`: the fleet as it was at an instant becomes the present; the disaster stays past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from retrograph.resolvers.outcomes import FleetRewound, RowsRewound
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import format_instant, in_future
from retrograph.rules.limits import check_text
from retrograph.storage.open_work import all_open
from retrograph.storage.records import EventType
from retrograph.storage.rewinds import REWOUND, Difference, difference, openings_at, set_back
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.task_records import Opening
from retrograph.storage.task_writes import reopen_all
from retrograph.storage.write import Write


@dataclass(frozen=True, slots=True)
class Rewind:
    """A request to rewind: to which instant, and the words by which the caller agrees.

    A dry run only tells what would be done.
    """

    to: int
    dry_run: bool = True
    confirm: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    differences: Mapping[str, Difference]
    openings: list[Opening]
    open_now: int


def rewind_fleet(scope: Scope, fleet_id: int, request: Rewind) -> FleetRewound:
    """Sets state, content, edges and evidence back, and opens the tasks that they then ask for.

    Nodes made since leave the present; runs, events and decisions stay.  Raises `InvalidInput`
    where the confirmation is missing or another, or there was nothing at the instant yet, and
    `InstantInFuture`.
    """
    if request.reason is not None:
        check_text(request.reason, ("input", "reason"))
    if request.dry_run:
        with scope.snapshot(fleet_id) as snapshot:
            _check_instant(scope, snapshot, request.to, snapshot.clock)
            return _told(snapshot, request, _plan(snapshot, request.to))
    _check_confirmed(fleet_id, request)
    return scope.write(fleet_id, lambda write: _rewind(scope, write, request))


def confirmation(fleet_id: int, to: int) -> str:
    """What whoever rewinds must repeat, to the letter."""
    return f"rewind fleet {fleet_id} to {format_instant(to)}"


def _rewind(scope: Scope, write: Write, request: Rewind) -> FleetRewound:
    _check_instant(scope, write.snapshot, request.to, write.instant - 1)
    plan = _plan(write.snapshot, request.to)
    for name, versioned in REWOUND.items():
        set_back(write, versioned, request.to, plan.differences[name])
    write.forget_graph()
    done = _told(write.snapshot, request, plan)
    write.emit(EventType.FLEET_REWOUND, **_detail(request, done))
    reopen_all(write, plan.openings)
    return done


def _plan(s: Snapshot, to: int) -> _Plan:
    return _Plan(
        {name: difference(s, versioned, to) for name, versioned in REWOUND.items()},
        openings_at(replace(s, instant=to)),
        len(all_open(s)),
    )


def _told(s: Snapshot, request: Rewind, plan: _Plan) -> FleetRewound:
    return FleetRewound(
        s.instant,
        request.to,
        request.dry_run,
        confirmation(s.fleet_id, request.to),
        {
            name: RowsRewound(len(each.removed), len(each.restored), len(each.returned))
            for name, each in plan.differences.items()
        },
        plan.open_now,
        len(plan.openings),
    )


def _detail(request: Rewind, done: FleetRewound) -> dict[str, Any]:
    rows = {name: asdict(each) for name, each in done.rows.items()}
    return {"to": format_instant(request.to), "reason": request.reason, **rows}


def _check_instant(scope: Scope, s: Snapshot, to: int, clock: int) -> None:
    if to > clock and to > (now := scope.store.now()):
        raise in_future(now, field=("input", "to"))
    if to < s.began:
        raise InvalidInput(
            f"The fleet's history begins at {format_instant(s.began)}; give no earlier instant.",
            path=("input", "to"),
            code="INSTANT_BEFORE_HISTORY",
        )


def _check_confirmed(fleet_id: int, request: Rewind) -> None:
    wanted = confirmation(fleet_id, request.to)
    if request.confirm != wanted:
        raise InvalidInput(
            "A rewind changes the whole fleet. Look at a dry run first; to agree, pass "
            f"`{wanted}` as confirm.",
            path=("input", "confirm"),
            code="NOT_CONFIRMED",
        )
