"""Opens, frees and ends tasks, so that at every commit just what must be judged is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat

import orjson

from retrograph.storage.arrangement import Arrangement, arrange
from retrograph.storage.bulk import insert_rows
from retrograph.storage.gates import drop_all_gates, drop_gates, gates, put_gates, shift_gates
from retrograph.storage.open_work import (
    OpenTask,
    Pair,
    all_open,
    any_open,
    members,
    open_targets,
    open_tasks,
)
from retrograph.storage.records import EventType, NodeRecord
from retrograph.storage.tables import task
from retrograph.storage.task_records import UNSURE, Opening, TaskStatus
from retrograph.storage.versions import open_next
from retrograph.storage.write import Write, take_ids

_COLUMNS = (
    "tenant_id", "fleet_id", "valid_from", "id", "node_id", "run_id", "run_ordinal", "opened_at",
    "awaiting", "priority", "component_id", "status", "attempt",
)  # fmt: skip


def settle(
    write: Write,
    swept: Collection[int],
    openings: Sequence[Opening],
    ended: Collection[OpenTask] = (),
) -> None:
    """Cancels the open tasks of the nodes that a run swept, and opens those it asks for.

    The nodes of `openings` are among the swept.  `ended` are tasks that have ended already, and
    that nothing waits on any more.
    """
    had = open_tasks(write.snapshot, swept) if any_open(write.snapshot) else {}
    end_tasks(write, had.values(), TaskStatus.CANCELLED_SUPERSEDED)
    _tell(write, EventType.REVALIDATION_CANCELLED, had.values())
    kept = {each.node_id for each in openings} & had.keys()
    _open_again(write, [each for each in openings if each.node_id in kept], had)
    fresh = {each.node_id: each for each in openings if each.node_id not in had}
    gone = [*ended, *(each for node_id, each in had.items() if node_id not in kept)]
    ready = _release(write, gone, fresh)
    again = open_tasks(write.snapshot, kept)
    homes = {each.component_id for each in again.values()}
    ready |= _mark_ready(write, homes - gates(write, homes).keys())
    tell_ready(write, ready)


def release(write: Write, ended: Collection[OpenTask]) -> None:
    """Lets go of what waited behind tasks that have ended."""
    tell_ready(write, _release(write, ended, {}))


def open_tasks_of(write: Write, openings: Sequence[Opening]) -> None:
    """Opens tasks of nodes that have none."""
    tell_ready(write, _release(write, (), {each.node_id: each for each in openings}))


def reopen_all(write: Write, openings: Sequence[Opening]) -> None:
    """Cancels every open task of the fleet and opens these instead, over the edges of now."""
    had = all_open(write.snapshot).values()
    end_tasks(write, had, TaskStatus.CANCELLED_SUPERSEDED)
    _tell(write, EventType.REVALIDATION_CANCELLED, had)
    drop_all_gates(write)
    open_tasks_of(write, openings)


def look_again(write: Write, node_id: int) -> None:
    """Makes the waiting task of a node ready, if nothing blocks it."""
    home = open_tasks(write.snapshot, [node_id])[node_id].component_id
    if not gates(write, [home]):
        tell_ready(write, _mark_ready(write, {home}))


def settle_pin(write: Write, node: NodeRecord, *, pinned: bool) -> None:
    """Ends the task of a node that was pinned, or opens that of one that was let go.

    What awaits a re-evaluation or a repair stays open under a pin.
    """
    had = open_tasks(write.snapshot, [node.id]).get(node.id)
    if pinned and had is not None and not had.awaiting:
        settle(write, [node.id], [])
    if not pinned and had is None and node.validity == node.projected in UNSURE:
        settle(write, [node.id], [Opening(node.id)])


def stir(write: Write, gone: Collection[Pair] = (), new: Collection[Pair] = ()) -> None:
    """Arranges open tasks anew, since edges (source, target) between their nodes came or went."""
    if not (gone or new) or not any_open(write.snapshot):
        return
    found = open_tasks(write.snapshot, {node_id for pair in (*gone, *new) for node_id in pair})
    ends = {found[target].component_id for _, target in (*gone, *new) if target in found}
    arriving = [pair for pair in new if pair[0] in found and pair[1] in found]
    stirred = members(write.snapshot, ends)
    tell_ready(write, _arrange(write, {}, stirred, arriving))


def end_tasks(write: Write, ended: Iterable[OpenTask], status: TaskStatus) -> None:
    """Gives tasks their last status."""
    rows = [
        {"id": each.id, "status": int(status), "due_at": None, "lease_token": None}
        for each in ended
    ]
    open_next(write.snapshot, task, rows)


def _release(write: Write, ended: Collection[OpenTask], fresh: Mapping[int, Opening]) -> set[int]:
    """Opens fresh tasks and frees what waited behind ended ones; returns the nodes now ready."""
    gone = {each.node_id: each.component_id for each in ended}
    # What is left of a component may fall apart.
    torn = set(gone.values())
    rest = members(write.snapshot, torn)
    drop_gates(write, torn)
    ready = _lower(write, gone, rest)
    return ready | _arrange(write, fresh, rest)


def _lower(write: Write, gone: Mapping[int, int], rest: Collection[int]) -> set[int]:
    """Takes the edges out of ended tasks from the gates they led into, but those of `rest`."""
    pairs = [pair for pair in open_targets(write.snapshot, gone) if pair[1] not in rest]
    behind = open_tasks(write.snapshot, {target for _, target in pairs})
    counts = Counter(
        behind[target].component_id
        for source, target in pairs
        if behind[target].component_id != gone[source]
    )
    free = shift_gates(write, {component: -count for component, count in counts.items()})
    return _mark_ready(write, free)


def _arrange(
    write: Write,
    fresh: Mapping[int, Opening],
    stirred: Mapping[int, OpenTask],
    arriving: Collection[Pair] = (),
) -> set[int]:
    """Gives fresh and stirred tasks their components and gates; returns the nodes now ready.

    What was ready stays so when its circle falls apart, but waits for what comes before it newly:
    a fresh task, or an edge that arrives.
    """
    if not fresh and not stirred:
        return set()
    arranged = arrange(write, fresh, stirred)
    ids = dict(zip(sorted(fresh), take_ids(write, "task", len(fresh)), strict=True))
    known = open_tasks(write.snapshot, arranged.leaders.keys() - fresh.keys())
    drop_gates(write, {each.component_id for each in known.values()})
    homes = _homes(arranged.leaders, {node: each.id for node, each in known.items()} | ids)
    put_gates(write, {homes[leader]: count for leader, count in arranged.blockers.items()})
    home = {node: homes[leader] for node, leader in arranged.leaders.items()}
    free = {node for node, leader in arranged.leaders.items() if not arranged.blockers[leader]}
    if fresh:
        _insert(write, fresh, ids, home, free, arranged.waiting)
    _rehome(write, known, home)
    _raise(write, arranged, home)
    new = [*arranged.passed_on, *arriving]
    struck = {home[t] for s, t in new if t in home and home.get(s) != home[t]}
    _make_wait(write, (each for node_id, each in known.items() if home[node_id] in struck))
    return _freed(write, known, free) | (free & fresh.keys())


def _homes(leaders: Mapping[int, int], places: Mapping[int, int]) -> dict[int, int]:
    """The smallest task of each component, by its leader."""
    found: dict[int, int] = {}
    for node, leader in leaders.items():
        place = places[node]
        if found.setdefault(leader, place) > place:
            found[leader] = place
    return found


def _insert(
    write: Write,
    fresh: Mapping[int, Opening],
    ids: Mapping[int, int],
    home: Mapping[int, int],
    free: set[int],
    waiting: Mapping[int, int],
) -> None:
    # Plain numbers: an enum's members take several times as long.
    ready, waits = int(TaskStatus.READY), int(TaskStatus.WAITING)
    _put_tasks(
        write,
        ids.values(),
        [fresh[node_id] for node_id in ids],
        map(waiting.__getitem__, ids),
        map(home.__getitem__, ids),
        (ready if node_id in free else waits for node_id in ids),
    )


def _put_tasks(
    write: Write,
    ids: Iterable[int],
    openings: Sequence[Opening],
    priorities: Iterable[int],
    components: Iterable[int],
    statuses: Iterable[int],
) -> None:
    """Inserts tasks, given as columns: there may be as many as a cascade has impacts."""
    s, now = write.snapshot, write.instant
    nodes, runs, ordinals, awaiting = zip(*openings, strict=True)
    rows = zip(
        repeat(s.tenant_id),
        repeat(s.fleet_id),
        repeat(now),
        ids,
        nodes,
        runs,
        ordinals,
        repeat(now),
        map(int, awaiting),
        priorities,
        components,
        statuses,
        repeat(0),
        strict=False,  # what is repeated never ends
    )
    insert_rows(s.connection, s.profile, task.current.name, _COLUMNS, rows)


def _rehome(write: Write, known: Mapping[int, OpenTask], home: Mapping[int, int]) -> None:
    moved = [
        {"id": each.id, "component_id": home[node_id]}
        for node_id, each in known.items()
        if each.component_id != home[node_id]
    ]
    open_next(write.snapshot, task, moved)


def _raise(write: Write, arranged: Arrangement, home: Mapping[int, int]) -> None:
    """Adds the edges out of fresh tasks to the gates of components that were there before."""
    targets = {target for _, target in arranged.passed_on if target not in home}
    behind = open_tasks(write.snapshot, targets)
    counts = Counter(
        behind[target].component_id for _, target in arranged.passed_on if target in behind
    )
    shift_gates(write, counts)
    _make_wait(write, members(write.snapshot, counts.keys()).values())


def _open_again(write: Write, openings: Sequence[Opening], had: Mapping[int, OpenTask]) -> None:
    """Opens tasks in the place of others: what leads to their nodes, and from them, is the same."""
    if not openings:
        return
    ids = take_ids(write, "task", len(openings))
    before = [had[each.node_id] for each in openings]
    _put_tasks(
        write,
        ids,
        openings,
        [each.priority for each in before],
        [each.component_id for each in before],
        repeat(int(TaskStatus.WAITING)),
    )


def _mark_ready(write: Write, components: set[int]) -> set[int]:
    found = members(write.snapshot, components)
    return _freed(write, found, set(found))


def _freed(write: Write, known: Mapping[int, OpenTask], free: set[int]) -> set[int]:
    """Makes waiting tasks ready; returns their nodes."""
    waiting = {
        node_id: each
        for node_id, each in known.items()
        if node_id in free and each.status is TaskStatus.WAITING
    }
    rows = [{"id": each.id, "status": int(TaskStatus.READY)} for each in waiting.values()]
    open_next(write.snapshot, task, rows)
    return set(waiting)


def _make_wait(write: Write, tasks: Iterable[OpenTask]) -> None:
    """Lets tasks wait that were ready, or would be after a while: what they rest on fell anew."""
    soon = (TaskStatus.READY, TaskStatus.BACKING_OFF)
    rows = [
        {"id": each.id, "status": int(TaskStatus.WAITING), "due_at": None}
        for each in tasks
        if each.status in soon
    ]
    open_next(write.snapshot, task, rows)


def tell_ready(write: Write, node_ids: Collection[int]) -> None:
    """An event for each node whose task is ready now."""
    if node_ids:
        _tell(write, EventType.REVALIDATION_READY, open_tasks(write.snapshot, node_ids).values())


def _tell(write: Write, kind: EventType, tasks: Iterable[OpenTask]) -> None:
    """An event of a kind for each task, by node."""
    s = write.snapshot
    listed = sorted(tasks, key=lambda each: each.node_id)
    rows = (
        (
            s.tenant_id,
            s.fleet_id,
            write.instant,
            write.next_event + place,
            int(kind),
            each.node_id,
            orjson.dumps({"taskId": str(each.id)}).decode(),
        )
        for place, each in enumerate(listed)
    )
    columns = ("tenant_id", "fleet_id", "at", "ordinal", "type", "node_id", "detail")
    insert_rows(s.connection, s.profile, "outbox", columns, rows)
    write.next_event += len(listed)
