"""What `serve` makes of its process, and whom it answers."""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from retrograph.cli_serve import GC_THRESHOLDS
from tests.command import PATIENCE, next_line, process, retrograph


@pytest.fixture
def restored() -> Iterator[None]:
    """Takes back what serving changes in the process of the tests."""
    thresholds, handler = gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("restored")
def test_the_collector_is_spared_while_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[tuple[int, int, int], int]] = []

    def run(self: uvicorn.Server, sockets: object) -> None:
        seen.append((gc.get_threshold(), gc.get_freeze_count()))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    result = retrograph("serve", "--port", "0", "--database", tmp_path / "memory.db")
    assert result.exit_code == 0
    ((thresholds, frozen),) = seen
    assert thresholds == GC_THRESHOLDS
    assert frozen > 0


def test_without_proof_it_answers_to_the_names_of_this_machine_alone(tmp_path: Path) -> None:
    with process("serve", "--port", "0", "--database", tmp_path / "memory.db") as server:
        found = re.search(r" at (http://127\.0\.0\.1:(\d+)/graphql)$", next_line(server).rstrip())
        assert found is not None
        query = {"query": "{ viewer { tenantId } }"}
        for host, status in (("localhost", 200), ("elsewhere.example", 421)):
            headers = {"host": f"{host}:{found[2]}"}
            answer = httpx.post(found[1], json=query, headers=headers, timeout=PATIENCE)
            assert answer.status_code == status
