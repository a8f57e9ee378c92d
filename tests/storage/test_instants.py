"""Microseconds survive every way in and out: an instant read back names the very same version."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.edges import list_edges
from retrograph.resolvers.events import list_events
from retrograph.resolvers.inputs import Invalidation, NodeInput, OnChange
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.nodes import evidence_of, get_node, history_of
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.runs import get_run
from retrograph.resolvers.scope import Scope
from retrograph.rules.cursor import decode_event_cursor, encode_event_cursor
from retrograph.rules.errors import BeyondRetention, DatabaseUnavailable
from retrograph.rules.instant import EARLIEST, LATEST, format_instant, parse_instant
from retrograph.storage.records import NodeRecord, NodeRef
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.dump import dump
from tests.memory import NEW, Memory
from tests.resolvers.files import exported, load, node

INSTANTS = st.integers(
    parse_instant("2001-01-01T00:00:00Z"), parse_instant("2037-12-31T23:59:59.999999Z")
)
EVER = st.integers(EARLIEST, LATEST)
A = NodeRef(key="a")


@pytest.fixture
def fleets() -> count[int]:
    """Numbers of fleets, so that each example begins with no past."""
    return count(2)


@pytest.fixture
def kept_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets instants lie many years apart, also where an engine's history ends."""
    monkeypatch.setattr(store._profile, "history_kept", None)


def begin(scope: Scope, fleet: int, clock: ManualClock, at: int) -> None:
    """Makes the fleet just before `at`, and lets the clock tell that."""
    clock.restart(at - 1)
    scope.store.write_all(scope.tenant_id, [fleet], lambda _: None)
    clock.now = at


def read_back(micros: int) -> int:
    """The instant as a caller gets it and gives it again."""
    return parse_instant(format_instant(micros))


def look(scope: Scope, fleet: int, at: int) -> NodeRecord:
    found = get_node(scope, fleet, A, at)
    assert found is not None
    return found


@pytest.mark.usefixtures("kept_for_ever")
@settings(max_examples=30)
@given(instants=st.lists(INSTANTS, min_size=2, max_size=6, unique=True).map(sorted))
def test_an_instant_names_the_version_that_began_at_it(
    scope: Scope, clock: ManualClock, fleets: count[int], instants: list[int]
) -> None:
    fleet, versions = next(fleets), []
    begin(scope, fleet, clock, instants[0])
    for number, clock.now in enumerate(instants):
        given = NodeInput("a", kind=NEW, payload=number)
        versions += put_nodes(scope, fleet, [given], OnChange.KEEP).nodes
    assert [each.valid_from for each in versions] == instants
    for earlier, version in zip([None, *versions], versions, strict=False):
        at = read_back(version.valid_from)
        assert look(scope, fleet, at).version_id == version.version_id
        assert look(scope, fleet, at).payload == version.payload
        before = get_node(scope, fleet, A, at - 1)
        assert (before and before.version_id) == (earlier and earlier.version_id)
    past = history_of(scope, fleet, None, [versions[0].id], 99)[versions[0].id].rows
    assert [each.valid_from for each in reversed(past)] == instants
    assert [each.valid_to for each in reversed(past)] == [*instants[1:], None]
    for version in versions:
        cut = history_of(scope, fleet, read_back(version.valid_from), [version.id], 1)
        assert cut[version.id].rows[0].version_id == version.version_id


@settings(max_examples=20)
@given(at=INSTANTS)
def test_every_kind_of_write_carries_its_instant(
    scope: Scope, clock: ManualClock, fleets: count[int], at: int
) -> None:
    fleet = next(fleets)
    memory = Memory(scope, fleet)
    begin(scope, fleet, clock, at)
    put_nodes(scope, fleet, [NodeInput("a", kind=NEW), NodeInput("b", kind=NEW)], OnChange.KEEP)
    linked = memory.link("a REQUIRES b")
    added = add_evidence(scope, fleet, A, "urn:x", "seen")
    pinned = pin_node(scope, fleet, A, pinned=True)
    run = invalidate(scope, fleet, Invalidation(NodeRef(key="b"), "wrong"))
    assert [linked.instant, added.instant, pinned.instant, run.executed_at] == [
        at + step for step in range(1, 5)
    ]
    (edge,) = list_edges(scope, fleet, None, None, None, 9, at=read_back(linked.instant)).rows
    assert edge.valid_from == linked.instant
    assert list_edges(scope, fleet, None, None, None, 9, at=linked.instant - 1).rows == []
    id = added.node.id
    (evidence,) = evidence_of(scope, fleet, read_back(added.instant), [id])[id]
    assert evidence.valid_from == added.instant
    assert not evidence_of(scope, fleet, added.instant - 1, [id]).get(id)
    assert look(scope, fleet, pinned.instant).pinned
    assert not look(scope, fleet, pinned.instant - 1).pinned
    found = get_run(scope, fleet, run.id, read_back(run.executed_at))
    assert found is not None
    assert (found.executed_at, found.effective_at) == (run.executed_at, run.effective_at)
    assert get_run(scope, fleet, run.id, run.executed_at - 1) is None


@pytest.mark.usefixtures("kept_for_ever")
@settings(max_examples=20)
@given(instants=st.lists(INSTANTS, min_size=2, max_size=4, unique=True).map(sorted))
def test_cursors_and_changes_lead_on_from_the_very_instant(
    scope: Scope, clock: ManualClock, fleets: count[int], instants: list[int]
) -> None:
    fleet = next(fleets)
    memory = Memory(scope, fleet)
    begin(scope, fleet, clock, instants[0] - 9)
    memory.plant(*map(str, range(len(instants))))
    at = []
    for number, clock.now in enumerate(instants):
        at.append(memory.fell(str(number)).executed_at)
    assert at == instants
    events = list_events(scope, fleet, None, None, 99).rows
    assert [event.at for event in events] == at
    for place, event in enumerate(events):
        cursor = decode_event_cursor(encode_event_cursor(event.at, event.ordinal))
        assert list_events(scope, fleet, None, cursor, 99).rows == events[place + 1 :]
        told = list_changes(scope, fleet, read_back(event.at) - 1, read_back(event.at), 99).rows
        assert [(change.node_id, change.at) for change in told] == [(event.node_id, event.at)]
        assert list_changes(scope, fleet, event.at, event.at, 99).rows == []


@given(expires_at=EVER)
def test_an_expiry_of_any_year_comes_out_as_it_went_in(scope: Scope, expires_at: int) -> None:
    given = NodeInput("a", kind=NEW, expires_at=expires_at)
    (written,) = put_nodes(scope, 1, [given], OnChange.KEEP).nodes
    assert written.expires_at == expires_at
    assert look(scope, 1, written.as_of).expires_at == expires_at


@settings(max_examples=20)
@given(expires_at=EVER)
def test_an_expiry_survives_import_and_export(scope: Scope, expires_at: int) -> None:
    line = node("a", expiresAt=format_instant(expires_at))
    load(scope, line)
    assert exported(scope) == [line]


@pytest.mark.parametrize("at", [EARLIEST, -1, 0, 1, 999_999])
def test_before_all_history_there_is_no_node(scope: Scope, at: int) -> None:
    Memory(scope).plant("a")
    assert get_node(scope, 1, A, at) is None
    assert Memory(scope).nodes(at) == {}


@pytest.mark.needs("until_2038")
def test_an_instant_that_the_engine_cannot_keep_is_refused(
    store: Store, scope: Scope, clock: ManualClock
) -> None:
    clock.now = parse_instant("2106-02-07T06:28:16Z")
    before = dump(store)
    with pytest.raises(DatabaseUnavailable, match="no instant after 2038"):
        Memory(scope).plant("a")
    assert dump(store) == before


def test_what_may_be_deleted_is_refused_and_never_shown_as_empty(
    store: Store, scope: Scope, clock: ManualClock
) -> None:
    memory = Memory(scope)
    memory.put(NodeInput("a", kind=NEW, payload=1))
    then, kept = scope.clock(1), store._profile.history_kept
    clock.advance(4 * 365 * 86_400 * 1_000_000)
    assert look(scope, 1, then).payload == "1", "it is the present still"
    memory.put(NodeInput("a", payload=2))
    for ask in (
        lambda: get_node(scope, 1, A, then),
        lambda: list_changes(scope, 1, then, None, 10),
        lambda: list_changes(scope, 1, then, then + 1, 10),
    ):
        if kept is None:
            assert ask() is not None
        else:
            with pytest.raises(BeyondRetention) as caught:
                ask()
            assert caught.value.path in {("asOf",), ("from",)}
    assert get_node(scope, 1, A, then - 10**15) is None, "there was nothing"
    assert look(scope, 1, clock.now - (kept or 1)).payload == "1"
