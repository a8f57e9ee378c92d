"""`retireEpisodes` and axioms: what an axiom had merged comes back only while that one stood."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.resolvers.compact import compact_fleet
from retrograph.resolvers.episode_inputs import Source
from retrograph.rules.reflection import EpisodeStatus
from retrograph.rules.utility import DAY
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.episodes import Episodes
from tests.memory import Memory

EVE = Source(agent="eve")


@pytest.fixture
def episodes(own_fleet: Memory, shared_store: Store) -> Iterator[Episodes]:
    yield Episodes(own_fleet)
    shared_store.uses.take()


def merge(episodes: Episodes) -> int:
    """Compacts; returns the one axiom that comes of it."""
    ((axiom,),) = (
        each.axioms for each in compact_fleet(episodes.memory.scope, episodes.memory.fleet)
    )
    return axiom


def status(episodes: Episodes, id: int) -> EpisodeStatus:
    return next(each.state.status for each in episodes.all() if each.id == id)


def poison(episodes: Episodes) -> tuple[list[int], list[int]]:
    """Takes out what eve gave, as the dry run has told: what is retired, and what restored."""
    told = episodes.retire(source=EVE, dry_run=True)
    done = episodes.retire(source=EVE)
    retired, restored = ([each.id for each in some] for some in (done.retired, done.restored))
    assert [each.id for each in told.retired] == retired
    assert [each.id for each in told.restored] == restored
    return retired, restored


def test_a_lesson_that_was_retired_as_an_axiom_stays_out(episodes: Episodes) -> None:
    eve, ann = (episodes.learn([1, 0], agent=agent) for agent in ("eve", "ann"))
    episodes.retire(merge(episodes), reason="this lesson is wrong")
    assert poison(episodes) == ([eve], [])
    assert status(episodes, ann) is EpisodeStatus.MERGED
    assert episodes.recall([1, 0]) == []


def test_a_lesson_that_wore_out_as_an_axiom_stays_out(
    episodes: Episodes, shared_clock: ManualClock
) -> None:
    eve, _ = (episodes.learn([1, 0], agent=agent) for agent in ("eve", "ann"))
    axiom = merge(episodes)
    shared_clock.advance(61 * DAY)
    compact_fleet(episodes.memory.scope, episodes.memory.fleet)
    assert status(episodes, axiom) is EpisodeStatus.RETIRED
    assert poison(episodes) == ([eve], [])
    assert episodes.recall([1, 0]) == []


def test_a_lesson_stays_out_whichever_axiom_told_it_last(episodes: Episodes) -> None:
    """Two became the first axiom; that and a third one the second, which is retired."""
    eve, _ = (episodes.learn([1, 0], agent=agent) for agent in ("eve", "ann"))
    first = merge(episodes)
    episodes.learn([1, 0], agent="bob")
    episodes.retire(merge(episodes), reason="this lesson is wrong")
    assert poison(episodes) == ([eve, first], [])
    assert episodes.recall([1, 0]) == []


def test_an_axiom_named_with_its_member_takes_the_others_along(episodes: Episodes) -> None:
    """As retiring the one and then the other does."""
    one, two = (episodes.learn([1, 0]) for _ in range(2))
    axiom = merge(episodes)
    done = episodes.retire(one, axiom)
    assert ([each.id for each in done.retired], done.restored) == ([one, axiom], [])
    assert status(episodes, two) is EpisodeStatus.MERGED


def test_the_inner_axiom_alone_takes_only_its_own_members_along(episodes: Episodes) -> None:
    one, _ = (episodes.learn([1, 0]) for _ in range(2))
    first = merge(episodes)
    late = episodes.learn([1, 0])
    second = merge(episodes)
    done = episodes.retire(one, first)
    assert [each.id for each in done.retired] == [one, first, second]
    assert [each.id for each in done.restored] == [late]
    assert episodes.recall([1, 0]) == [late]
