"""The shared cases of recall, asked for over HTTP: all are long, some quick."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store
from tests.episodes import Episodes
from tests.memory import Memory
from tests.schema.serving import Served, serving
from tests.shared import shared

CASES = json.loads(shared("cases/recall.json").read_text())
QUICK = 2
RECALL = """query ($input: RecallInput!, $asOf: DateTime) {
  recall(fleetId: 1, input: $input, asOf: $asOf) { score cosine graph episode { id asOf } } }"""


@pytest.fixture(scope="module")
def served(shared_store: Store) -> Iterator[Served]:
    with serving(create_app(shared_store)) as running:
        yield running


def keep(case: dict[str, Any], store: Store) -> dict[str, int]:
    """Learns the episodes of a case in a domain of its own; their ids by those that they got."""
    episodes = Episodes(Memory(Scope(store, 1, None, frozenset(Role))))
    told = sorted(case["episodes"], key=lambda each: each["id"])
    return {
        str(episodes.learn(e["embedding"], *e["entities"], domain=case["name"])): e["id"]
        for e in told
    }


def shown(answer: list[Any], ids: dict[str, int]) -> list[dict[str, Any]]:
    """As the cases show what is expected."""
    return [
        {
            "id": ids[each["episode"]["id"]],
            "combined": round(each["score"], 9),
            "cosine": round(each["cosine"], 6),
            "graph": round(each["graph"], 6),
        }
        for each in answer
    ]


@pytest.mark.parametrize(
    "case",
    [*CASES[:QUICK], *(pytest.param(each, marks=pytest.mark.long) for each in CASES[QUICK:])],
    ids=lambda case: case["name"],
)
def test_a_case_is_answered_now_and_ever_after(
    case: dict[str, Any], served: Served, shared_store: Store
) -> None:
    ids = keep(case, shared_store)
    asked = {"domain": case["name"], **case["query"]}
    first = served.ask(RECALL, input=asked)
    assert shown(first.data["recall"], ids) == case["expect"]
    if case["expect"]:
        then = first.data["recall"][0]["episode"]["asOf"]
        keep(case, shared_store)  # the same once more, later
        assert served.ask(RECALL, input=asked, asOf=then).data == first.data
