"""What is small to send and would be dear to answer is refused, and cheaply."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from retrograph.app import create_app
from retrograph.storage.store import open_store
from tests.clock import ManualClock
from tests.schema.bombs import DOCUMENTS, FIELDS, FRAGMENTS, NODES, VARIABLES
from tests.schema.serving import Served, serving

ROUNDS = 9
AT_MOST = 12
"""Times the CPU of the least that can be asked: a document of 500 fields is parsed first."""
FOR_THE_BEST_KNOWN = 10
BOMBS: dict[str, tuple[str, Any]] = {
    **{f"document: {name}": (document, None) for name, document in DOCUMENTS.items()},
    **{f"variables: {name}": (NODES, variables) for name, variables in VARIABLES.items()},
}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an empty fleet, which all bombs share."""
    store = open_store(str(tmp_path_factory.mktemp("bombs") / "memory.db"), clock=ManualClock())
    store.write_all(1, [1], lambda _: None)
    with serving(create_app(store)) as running:
        yield running
    store.close()


def cpu(served: Served, body: bytes) -> float:
    """Seconds of this process for one request: it is in one thread, and nothing else runs."""
    began = time.process_time()
    served.client.post("/graphql", content=body, headers={"content-type": "application/json"})
    return time.process_time() - began


def ratio(served: Served, body: bytes) -> float:
    """How many times the CPU of the least request: the least of each, as all else only adds."""
    least = json.dumps({"query": "{ __typename }"}).encode()
    pairs = [(cpu(served, least), cpu(served, body)) for _ in range(ROUNDS)]
    return min(bomb for _, bomb in pairs) / min(base for base, _ in pairs)


def test_the_two_best_known_have_their_sizes() -> None:
    assert (len(FRAGMENTS), len(FIELDS)) == (659, 2_002)


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_for_little(
    quiet: Served, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    query, variables = BOMBS[name]
    body = json.dumps({"query": query, "variables": variables}).encode()
    most = FOR_THE_BEST_KNOWN if query in {FRAGMENTS, FIELDS} else AT_MOST
    with caplog.at_level(logging.ERROR):
        answer = quiet.ask(query, **(variables or {}))
        # The machine may be busy: what is dear stays so, however often it is measured.
        assert any(ratio(quiet, body) <= most for _ in range(5))
    refusal = answer.body["errors"][0]["extensions"] if "errors" in answer.body else None
    stored = ((answer.body.get("data") or {}).get("putNodes") or {}).get("__typename")
    assert refusal or stored == "InvalidInput"
    assert refusal is None or refusal["code"] != "INTERNAL_ERROR"
    assert caplog.records == []
