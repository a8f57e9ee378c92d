"""Episodes over HTTP: stored, promoted, recalled, retired; and what is refused."""

from __future__ import annotations

import struct
from base64 import b64encode
from math import inf, nan
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.resolvers.episode_inputs import RecallRequest
from retrograph.resolvers.recall import recall
from retrograph.resolvers.rewind_fleet import Rewind, confirmation, rewind_fleet
from retrograph.rules.instant import format_instant
from retrograph.storage.store import Store
from tests.episodes import LEARNED
from tests.executions import Execution
from tests.memory import Memory, ref
from tests.schema.serving import Served, serving

STORE = """mutation ($input: StoreEpisodeInput!) { storeEpisode(input: $input) { __typename
  ... on EpisodeStored { instant episode { id status domain reflection metadata schemaVersion
    entities { urn name kind } basedOn { key } node { key } execution agent uses utility } }
  ... on UserError { code path } } }"""
PROMOTE = """mutation ($input: PromoteEpisodeInput!) { promoteEpisode(input: $input) { __typename
  ... on EpisodePromoted { instant episode { status decidedBy proof note statusFrom } }
  ... on UserError { code path } } }"""
RETIRE = """mutation ($input: RetireEpisodesInput!) { retireEpisodes(input: $input) { __typename
  ... on EpisodesRetired { instant dryRun retiredCount restoredCount fallenCount
    retired { id } restored { id } runs { reason impactCount } }
  ... on UserError { code path } } }"""
RELATE = """mutation ($input: RelateEntitiesInput!) { relateEntities(input: $input) { __typename
  ... on EntitiesRelated { relations { source target type relatedAt } }
  ... on UserError { code path } } }"""
RECALL = """query ($input: RecallInput!, $asOf: DateTime) {
  recall(fleetId: 1, input: $input, asOf: $asOf) { score cosine graph episode { id asOf } } }"""
LIST = """query ($filter: EpisodeFilter, $first: Int, $after: String) {
  episodes(fleetId: 1, filter: $filter, first: $first, after: $after) {
    nodes { id status basedOn { key } fallen { key validity staleness { run { reason } } } }
    pageInfo { hasNextPage endCursor } } }"""

GONE = """query ($asOf: DateTime) {
  episodes(fleetId: 1, asOf: $asOf) { nodes { basedOn { key } fallen { key validity } } }
  checkpoint(fleetId: 1, executionId: "run", asOf: $asOf) { staleReads { key validity } } }"""


def floats(*numbers: float) -> str:
    """Base64 of float32 numbers, as no list of JSON can say them."""
    return b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def act(served: Served, mutation: str, **given: Any) -> Any:
    (answer,) = served.ask(mutation, input={"fleetId": "1", **given}).data.values()
    return answer


def store_one(served: Served, embedding: object = (1, 0), **given: Any) -> Any:
    values = {"domain": "d", "embedding": embedding, "reflection": LEARNED} | given
    return act(served, STORE, **values)


def learn(served: Served, embedding: object = (1, 0), **given: Any) -> str:
    id: str = store_one(served, embedding, **given)["episode"]["id"]
    done = act(served, PROMOTE, id=id, by="ci", terminalStatus="SUCCEEDED", note="green")
    assert done["episode"]["status"] == "ACTIVE"
    return id


def test_an_episode_from_beginning_to_end(served: Served, memory: Memory) -> None:
    memory.plant("base", "said")
    vector = b64encode(struct.pack("<2f", 3, 4)).decode()
    told = store_one(
        served, vector, entities=[{"name": "Acme", "kind": "TOOL"}], metadata={"a": 1},
        basedOn=[{"key": "base"}], node={"key": "said"}, execution="x", agent="eve",
    )  # fmt: skip
    id = told["episode"].pop("id")
    assert told["episode"] == {
        "status": "QUARANTINED", "domain": "d", "reflection": LEARNED, "metadata": {"a": 1},
        "schemaVersion": "1", "basedOn": [{"key": "base"}], "node": {"key": "said"},
        "entities": [{"urn": "urn:tenant:1:entity:acme", "name": "acme", "kind": "TOOL"}],
        "execution": "x", "agent": "eve", "uses": 0, "utility": 1.0,
    }  # fmt: skip
    asked = {"domain": "d", "embedding": [1, 0], "threshold": 0.5, "entities": ["ACME"]}
    assert served.ask(RECALL, input=asked).data == {"recall": []}
    done = act(served, PROMOTE, id=id, by="ci", terminalStatus="SUCCEEDED", note="green")
    assert done["episode"] == {
        "status": "ACTIVE", "decidedBy": "ci", "proof": "SUCCEEDED", "note": "green",
        "statusFrom": done["instant"],
    }  # fmt: skip
    (found,) = served.ask(RECALL, input=asked).data["recall"]
    assert (found["episode"]["id"], found["graph"]) == (id, 0.5)
    assert found["score"] == 2 / 61
    assert found["cosine"] == pytest.approx(0.6)
    assert served.ask(RECALL, input=asked, asOf=told["instant"]).data == {"recall": []}
    dry = act(served, RETIRE, source={"agent": "eve"}, reason="poisoned", dryRun=True)
    assert (dry["retired"], dry["fallenCount"], dry["runs"]) == ([{"id": id}], 1, [])
    gone = act(served, RETIRE, source={"agent": "eve"}, reason="poisoned")
    assert gone["runs"] == [{"reason": "poisoned", "impactCount": 1}]
    assert (gone["retiredCount"], gone["restoredCount"]) == (1, 0)
    assert served.ask(RECALL, input=asked).data == {"recall": []}
    assert memory.states()["said"] == "INVALID"


def test_why_an_episode_is_not_recalled_is_told(served: Served, memory: Memory) -> None:
    memory.plant("base", "other")
    id = learn(served, basedOn=[{"key": "base"}, {"key": "other"}])
    memory.fell("base", reason="it moved")
    (shown,) = served.ask(LIST).data["episodes"]["nodes"]
    assert shown == {
        "id": id, "status": "ACTIVE", "basedOn": [{"key": "base"}, {"key": "other"}],
        "fallen": [
            {"key": "base", "validity": "INVALID", "staleness": {"run": {"reason": "it moved"}}}
        ],
    }  # fmt: skip
    asked = {"domain": "d", "embedding": [1, 0]}
    assert served.ask(RECALL, input=asked).data == {"recall": []}


def test_a_base_that_was_rewound_out_of_the_present_is_told(served: Served, memory: Memory) -> None:
    """As a checkpoint on it tells of it: the node is healthy as it last was, and is gone."""
    memory.plant("kept")
    before = memory.scope.clock(1)
    memory.plant("gone")
    bases = [{"key": "kept"}, {"key": "gone"}]
    learn(served, basedOn=bases)
    Execution(memory.scope).grow(1, based_on=[ref("kept"), ref("gone")])
    stood = format_instant(memory.scope.clock(1))
    confirm = confirmation(1, before)
    rewind_fleet(memory.scope, 1, Rewind(before, dry_run=False, confirm=confirm))
    for at, fallen in ((None, [{"key": "gone", "validity": "CURRENTLY_VALID"}]), (stood, [])):
        told = served.ask(GONE, asOf=at).data
        assert told["episodes"]["nodes"] == [{"basedOn": bases, "fallen": fallen}]
        assert told["checkpoint"] == {"staleReads": fallen}
        asked = {"domain": "d", "embedding": [1, 0]}
        found = served.ask(RECALL, input=asked, asOf=at).data["recall"]
        assert len(found) == (0 if fallen else 1)


def test_lists_are_narrowed_down_and_paged(served: Served) -> None:
    ids = [learn(served, agent="a"), store_one(served, agent="b")["episode"]["id"]]
    page = served.ask(LIST, first=1).data["episodes"]
    assert ([n["id"] for n in page["nodes"]], page["pageInfo"]["hasNextPage"]) == (ids[:1], True)
    rest = served.ask(LIST, first=5, after=page["pageInfo"]["endCursor"]).data["episodes"]
    assert [n["id"] for n in rest["nodes"]] == ids[1:]
    for filter, wanted in (
        ({"status": ["ACTIVE"]}, ids[:1]), ({"source": {"agent": "b"}}, ids[1:]),
        ({"domain": "e"}, []),
    ):  # fmt: skip
        found = served.ask(LIST, filter=filter).data["episodes"]["nodes"]
        assert [n["id"] for n in found] == wanted


def test_entities_are_related(served: Served) -> None:
    id = learn(served, [0, 1], entities=[{"name": "crm"}])
    pair = {"source": "Timeout", "target": "CRM", "type": "CAUSED_BY"}
    (related,) = act(served, RELATE, relations=[pair])["relations"]
    assert related["target"] == "urn:tenant:1:entity:crm"
    asked = {"domain": "d", "embedding": [1, 0], "entities": ["timeout"]}
    assert served.ask(RECALL, input=asked).data == {"recall": []}
    (found,) = served.ask(RECALL, input=asked | {"hops": 1}).data["recall"]
    assert found["episode"]["id"] == id


@pytest.mark.parametrize(
    ("mutation", "given", "answer"),
    [
        (STORE, {"embedding": [1]}, ("InvalidInput", "WRONG_DIMENSION", "embedding")),
        (STORE, {"embedding": [0, 0]}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"embedding": [1e39, 0]}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"embedding": floats(nan, 0)}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"embedding": floats(inf, 0)}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"embedding": "AAAA"}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"embedding": [1] * 4_097}, ("InvalidInput", "BAD_USER_INPUT", "embedding")),
        (STORE, {"domain": ""}, ("InvalidInput", "BAD_USER_INPUT", "domain")),
        (STORE, {"domain": " "}, ("InvalidInput", "BAD_USER_INPUT", "domain")),
        (STORE, {"metadata": [1]}, ("InvalidInput", "BAD_USER_INPUT", "metadata")),
        (STORE, {"entities": [{"name": "urn:tenant:2:entity:a"}]},
         ("InvalidInput", "BAD_USER_INPUT", "entities")),
        (STORE, {"schemaVersion": "2"},
         ("InvalidInput", "UNKNOWN_SCHEMA_VERSION", "schemaVersion")),
        (STORE, {"reflection": "x" * 65_536}, ("InvalidInput", "PAYLOAD_TOO_LARGE", "reflection")),
        (STORE, {"node": {"key": "no"}}, ("NotFound", "NOT_FOUND", "node")),
        (PROMOTE, {"id": "1", "by": "ci", "terminalStatus": "FAILED"},
         ("PromotionRefused", "PROMOTION_REFUSED", "terminalStatus")),
        (PROMOTE, {"id": "9", "by": "ci"}, ("NotFound", "NOT_FOUND", "id")),
        (PROMOTE, {"id": "1", "by": " ", "terminalStatus": "SUCCEEDED"},
         ("InvalidInput", "BAD_USER_INPUT", "by")),
        (RETIRE, {"ids": ["9"], "reason": "r"}, ("NotFound", "NOT_FOUND", "ids")),
        (RETIRE, {"reason": "r"}, ("InvalidInput", "BAD_USER_INPUT", None)),
        (RELATE, {"relations": []}, ("InvalidInput", "BAD_USER_INPUT", "relations")),
        (RELATE, {"relations": [{"source": "a", "target": "A", "type": "CAUSED_BY"}]},
         ("InvalidInput", "SELF_LOOP", "relations")),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(
    served: Served, mutation: str, given: Any, answer: tuple[str, str, str | None]
) -> None:
    assert store_one(served)["episode"]["id"] == "1"
    base = {"domain": "d", "embedding": [1, 0], "reflection": LEARNED} if mutation == STORE else {}
    told = act(served, mutation, **base | given)
    where = told["path"][1] if len(told["path"]) > 1 else None
    assert (told["__typename"], told["code"], where) == answer


@pytest.mark.parametrize(
    "reflection",
    [
        LEARNED | {"trigger": "x" * 20_001}, LEARNED | {"resolution": " "}, {"trigger": "a"},
        LEARNED | {"more": 1}, ["a"], "text", 1, LEARNED | {"context": []},
    ],
)  # fmt: skip
def test_what_breaks_its_schema_stays_in_quarantine(served: Served, reflection: Any) -> None:
    id = store_one(served, reflection=reflection)["episode"]["id"]
    for more in ({"terminalStatus": "SUCCEEDED"}, {}):
        told = act(served, PROMOTE, id=id, by="ci", **more)
        assert (told["__typename"], told["code"]) == ("PromotionRefused", "PROMOTION_REFUSED")
    assert served.ask(RECALL, input={"domain": "d", "embedding": [1, 0]}).data == {"recall": []}


def test_what_can_not_be_recalled_has_a_code(served: Served) -> None:
    store_one(served)
    for more, code in (
        ({"embedding": [1]}, "WRONG_DIMENSION"), ({"embedding": [0, 0]}, "BAD_USER_INPUT"),
        ({"domain": ""}, "BAD_USER_INPUT"), ({"hops": 9}, "BAD_USER_INPUT"),
        ({"embedding": floats(nan, 1)}, "BAD_USER_INPUT"), ({"topK": 0}, "BAD_USER_INPUT"),
        ({"embedding": floats(1, inf)}, "BAD_USER_INPUT"), ({"threshold": 2}, "BAD_USER_INPUT"),
        ({"metadata": {"a": {}}}, "BAD_USER_INPUT"), ({"about": [" "]}, "BAD_USER_INPUT"),
    ):  # fmt: skip
        asked: dict[str, Any] = {"domain": "d", "embedding": [1, 0]} | more
        assert served.ask(RECALL, input=asked).code == code


def test_uses_are_written_when_the_server_ends(store: Store, memory: Memory) -> None:
    with serving(create_app(store)) as served:
        id = learn(served)
        asked = {"domain": "d", "embedding": [1, 0]}
        now = served.ask(RECALL, input=asked).data["recall"][0]["episode"]["asOf"]
        served.ask(RECALL, input=asked, asOf=now)
    (found,) = recall(memory.scope, 1, RecallRequest("d", [1, 0])).found
    assert (str(found.episode.id), found.episode.uses) == (id, 1)
