"""Episodes: quarantine and its gate, what is listed, and how entities relate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrograph.resolvers.episode_inputs import Source
from retrograph.resolvers.episodes import promote_episode, relate_entities
from retrograph.resolvers.scope import Role
from retrograph.rules.entity import EntityKind, RelationType
from retrograph.rules.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    PromotionRefused,
    RetrographError,
)
from retrograph.rules.reflection import EpisodeStatus, Proof, TerminalStatus
from retrograph.storage.episode_records import Entity
from retrograph.storage.records import NodeRef
from tests.dump import dump
from tests.episodes import DONE, LEARNED, Episodes
from tests.memory import Memory, ref


@pytest.fixture
def memory(own_fleet: Memory) -> Memory:
    return own_fleet


@pytest.fixture
def episodes(memory: Memory) -> Episodes:
    return Episodes(memory)


def test_what_is_stored_is_read_back(memory: Memory, episodes: Episodes) -> None:
    base, same = memory.plant("base", "same")
    stored = episodes.store(
        [1, 2],
        "Acme",
        " ACME ",
        "URN:Tenant:1:Entity:CRM",
        metadata={"b": 1.0, "a": [True]},
        based_on=[ref("base"), NodeRef(id=base)],
        node=ref("same"),
        execution="run-1",
        agent="ann",
    )
    content = stored.content
    assert content.entities == (
        Entity("urn:tenant:1:entity:acme", EntityKind.ENTITY),
        Entity("urn:tenant:1:entity:crm", EntityKind.ENTITY),
    )
    assert (content.metadata, content.based_on) == ('{"a":[true],"b":1}', (base,))
    assert (content.node_id, content.execution, content.agent) == (same, "run-1", "ann")
    assert (stored.domain, stored.state.status) == ("d", EpisodeStatus.QUARANTINED)
    assert (stored.uses, stored.last_used_at) == (0, None)
    assert episodes.all() == [stored]
    assert episodes.all(at=stored.as_of - 1) == []


def test_who_promoted_it_and_why_is_kept(episodes: Episodes) -> None:
    stored = episodes.store([1])
    promoted = episodes.promote(stored.id)
    state = promoted.state
    assert (state.status, state.decided_by, state.proof, state.note) == (
        EpisodeStatus.ACTIVE, "ci", TerminalStatus.SUCCEEDED, "all tests passed",
    )  # fmt: skip
    assert promoted.content == stored.content
    assert episodes.all(at=promoted.as_of - 1)[0].state == stored.state
    assert episodes.all() == [promoted]


def test_a_sign_off_takes_an_administrator(memory: Memory, episodes: Episodes) -> None:
    id = episodes.store([1]).id
    controller = replace(memory.scope, roles=frozenset({Role.CONTROLLER}))
    before = dump(memory.store)
    with pytest.raises(Forbidden):
        promote_episode(controller, memory.fleet, id, Proof("ann"))
    assert dump(memory.store) == before
    assert promote_episode(controller, memory.fleet, id, DONE).state.status is EpisodeStatus.ACTIVE
    assert episodes.promote(episodes.store([1]).id, Proof("ann")).state.proof is None


@pytest.mark.parametrize(
    ("reflection", "proof"),
    [
        (LEARNED, Proof("ci", TerminalStatus.FAILED)),
        ({"trigger": "t"}, DONE),
        ({"trigger": "t"}, Proof("ann")),
    ],
)
def test_the_gate_stays_shut(episodes: Episodes, reflection: object, proof: Proof) -> None:
    id = episodes.store([1], reflection=reflection).id
    before = dump(episodes.memory.store)
    with pytest.raises(PromotionRefused):
        episodes.promote(id, proof)
    assert dump(episodes.memory.store) == before


def test_nothing_is_promoted_twice_or_out_of_retirement(episodes: Episodes) -> None:
    active = episodes.learn([1])
    gone = episodes.store([1]).id
    episodes.retire(gone)
    for id in (active, gone):
        with pytest.raises(PromotionRefused, match="only a quarantined one"):
            episodes.promote(id)
    with pytest.raises(NotFound):
        episodes.promote(99)


def test_lists_are_narrowed_down_and_paged(episodes: Episodes) -> None:
    ids = [
        episodes.store([1], "Acme", "CRM", execution="a", agent="x").id,
        episodes.store([1], domain="e", execution="a ", agent="x").id,
        episodes.learn([1], "acme", execution="a", agent="y"),
    ]
    shown = {
        "all": episodes.all(),
        "domain": episodes.all(domain="d"),
        "unknown": episodes.all(domain="D"),
        "active": episodes.all(status=frozenset({EpisodeStatus.ACTIVE})),
        "execution": episodes.all(source=Source(execution="a")),
        "agent": episodes.all(source=Source(agent="x")),
        "both": episodes.all(source=Source("a", "x")),
        "entity": episodes.all(entity=" ACME"),
        "urn": episodes.all(entity="urn:tenant:1:entity:crm", domain="d"),
        "nothing": episodes.all(entity="ac"),
        "page": episodes.all(first=1, after=ids[0]),
    }
    assert {name: [ids.index(each.id) for each in rows] for name, rows in shown.items()} == {
        "all": [0, 1, 2], "domain": [0, 2], "unknown": [], "active": [2], "execution": [0, 2],
        "agent": [0, 1], "both": [0], "entity": [0, 2], "urn": [0], "nothing": [], "page": [1],
    }  # fmt: skip


def test_entities_are_related_once(memory: Memory) -> None:
    caused, solved = RelationType.CAUSED_BY, RelationType.RESOLVED_WITH
    first = relate_entities(memory.scope, memory.fleet, [("Timeout", "CRM", caused)])
    again = relate_entities(
        memory.scope, memory.fleet, [("timeout", "Retry", solved), ("TIMEOUT", "crm", caused)]
    )
    assert again.relations[1] == first.relations[0]
    twice = [("URN:tenant:1:entity:timeout", " crm", caused)] * 2
    assert relate_entities(memory.scope, memory.fleet, twice).relations == first.relations * 2
    assert first.relations[0].related_at == first.instant
    assert (again.relations[0].source, again.relations[0].target) == (
        "urn:tenant:1:entity:timeout", "urn:tenant:1:entity:retry",
    )  # fmt: skip


NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "kind", "path"),
    [
        ({"domain": ""}, InvalidInput, "domain"),
        ({"domain": "x" * 201}, InvalidInput, "domain"),
        ({"vector": [1, 2]}, InvalidInput, "embedding"),
        ({"vector": [NAN]}, InvalidInput, "embedding"),
        ({"vector": [0]}, InvalidInput, "embedding"),
        ({"vector": []}, InvalidInput, "embedding"),
        ({"reflection": {"trigger": "x" * 65_536}}, InvalidInput, "reflection"),
        ({"reflection": {"n": NAN}}, InvalidInput, "reflection"),
        ({"schema_version": "9"}, InvalidInput, "schemaVersion"),
        ({"metadata": []}, InvalidInput, "metadata"),
        ({"metadata": {"a": "x" * 16_384}}, InvalidInput, "metadata"),
        ({"entities": [("", EntityKind.TOOL)]}, InvalidInput, "entities/0/name"),
        ({"entities": [("a", EntityKind.TOOL), ("A", EntityKind.ERROR)]}, InvalidInput,
         "entities/1/kind"),
        ({"entities": [(str(n), EntityKind.TOOL) for n in range(101)]}, InvalidInput, "entities"),
        ({"based_on": [ref("nobody")]}, NotFound, "basedOn/0/key"),
        ({"based_on": [NodeRef()]}, InvalidInput, "basedOn/0"),
        ({"node": NodeRef(id=99)}, NotFound, "node/id"),
        ({"execution": " "}, InvalidInput, "execution"),
        ({"agent": "\0"}, InvalidInput, "agent"),
    ],
)  # fmt: skip
def test_bad_input_changes_nothing(
    episodes: Episodes, given: dict[str, object], kind: type[RetrographError], path: str
) -> None:
    episodes.store([1])
    before = dump(episodes.memory.store)
    vector, more = given.get("vector", [1]), {k: v for k, v in given.items() if k != "vector"}
    with pytest.raises(kind) as caught:
        episodes.store(vector, **more)  # type: ignore[arg-type]
    assert "/".join(caught.value.path) == f"input/{path}"
    assert dump(episodes.memory.store) == before


def test_bad_relations_change_nothing(memory: Memory) -> None:
    related = RelationType.RELATED_TO
    before = dump(memory.store)
    pairs = {
        "/1/source": ("", "b"), "/1/target": ("a", "urn:tenant:2:entity:b"), "/1": ("a", "A "),
    }  # fmt: skip
    for path, pair in [("", None), *pairs.items()]:
        given = [] if pair is None else [("a", "b", related), (*pair, related)]
        with pytest.raises(InvalidInput) as caught:
            relate_entities(memory.scope, memory.fleet, given)
        assert "/".join(caught.value.path) == f"input/relations{path}"
    assert dump(memory.store) == before
    with pytest.raises(NotFound):
        relate_entities(memory.scope, 9, [("a", "b", related)])
    with pytest.raises(NotFound):
        Episodes(replace(memory, fleet=9)).store([1])
