"""The demo has a past worth travelling to: each turn of its week is there, and none is ahead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from retrograph.resolvers.demo import CORRECTION, FLEET, HOUR, WEEK, make_demo
from retrograph.resolvers.nodes import evidence_of, get_node, list_nodes
from retrograph.resolvers.runs import list_runs
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.filters import NodeFilter, RunFilter
from retrograph.storage.records import NodeRecord, NodeRef, RunStatus
from retrograph.storage.store import open_store
from tests.clock import START, ManualClock

BELIEF = "belief:4714-moved-in-january"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scope]:
    database = tmp_path_factory.mktemp("demo") / "demo.db"
    make_demo(database, START)
    assert [path.name for path in database.parent.iterdir()] == ["demo.db"]
    store = open_store(str(database), clock=ManualClock())
    yield Scope(store, 1, None, frozenset(Role))
    store.close()


def test_a_link_is_followed_and_what_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to("there.db")
    with monkeypatch.context() as broken:
        broken.setattr("retrograph.resolvers.demo._correct_tariff", interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_demo(link, START)
    assert [path.name for path in tmp_path.iterdir()] == ["link.db"]
    make_demo(link, START)
    assert link.readlink() == Path("there.db")
    assert {path.name for path in tmp_path.iterdir()} == {"link.db", "there.db"}


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def node(demo: Scope, key: str, at: int | None = None) -> NodeRecord:
    found = get_node(demo, FLEET, NodeRef(key=key), at)
    assert found is not None
    return found


def test_a_week_of_history_ends_before_now(demo: Scope) -> None:
    nodes = list_nodes(demo, FLEET, NodeFilter(), 1000).rows
    assert 30 <= len(nodes) <= 80
    assert START - WEEK <= min(each.created_at for each in nodes) < START - WEEK + HOUR
    assert START - 2 * HOUR < demo.clock(FLEET) < START
    assert list_nodes(demo, FLEET, NodeFilter(), 1000, at=START - WEEK - 1).rows == []


def test_before_the_tariff_was_corrected_every_invoice_was_to_be_disputed(demo: Scope) -> None:
    (run,) = list_runs(demo, FLEET, RunFilter(reason=CORRECTION), 10).rows
    before = node(demo, "decision:9001", run.executed_at - 1)
    assert (before.payload, before.validity) == ('"dispute"', Validity.CURRENTLY_VALID)
    assert node(demo, "decision:9001").validity == Validity.INVALID
    assert node(demo, "tariff:2026-standard").validity == Validity.SUPERSEDED
    now = node(demo, "decision:9001@corrected")
    assert (now.payload, now.validity) == ('"pay"', Validity.CURRENTLY_VALID)


def test_the_contradicted_reading_fell_and_a_photo_says_why(demo: Scope) -> None:
    assert node(demo, "reading:M-93:end").validity == Validity.INVALID
    assert node(demo, "decision:9003@corrected").validity == Validity.DEFINITELY_STALE
    assert node(demo, "belief:M-93-works").validity == Validity.POTENTIALLY_STALE
    photo = node(demo, "reading:M-93:photo")
    assert photo.validity == Validity.CURRENTLY_VALID
    assert len(evidence_of(demo, FLEET, None, [photo.id])[photo.id]) == 1


def test_the_pinned_belief_stood_while_a_contract_was_in_doubt(demo: Scope) -> None:
    (changed,) = list_runs(demo, FLEET, RunFilter(reason="CONTENT_CHANGED"), 10).rows
    assert changed.status == RunStatus.REVERTED
    doubted = node(demo, BELIEF, changed.executed_at)
    assert (doubted.validity, doubted.projected) == (
        Validity.CURRENTLY_VALID,
        Validity.POTENTIALLY_STALE,
    )
    assert node(demo, BELIEF).pinned
    assert node(demo, "history:4714-complete", changed.executed_at).validity == (
        Validity.POTENTIALLY_STALE
    )
    assert is_healthy(node(demo, "history:4714-complete").validity)


def test_it_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the lights went out")

    database = tmp_path / "demo.db"
    monkeypatch.setattr("retrograph.resolvers.demo.revert_run", fail)
    with pytest.raises(RuntimeError):
        make_demo(database, START)
    assert not database.exists()
    monkeypatch.undo()
    make_demo(database, START)
    assert database.exists()
