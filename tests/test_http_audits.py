"""A running `serve` passes every audit that the package `graphql-http` has for servers."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from tests.command import PATIENCE, next_line, process
from tests.missing import node_script
from tests.shared import ROOT

AUDITS = (ROOT / "tests" / "audits.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of each audit, by its id and name."""
    command = node_script("audit.mjs")
    database = tmp_path_factory.mktemp("audits") / "memory.db"
    with process("serve", "--port", "0", "--database", database) as server:
        url = re.search(r"http://\S+", next_line(server))
        assert url is not None
        done = subprocess.run(
            [*command, url[0]], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    assert done.returncode == 0, done.stderr
    return {f"{each['id']} {each['name']}": each for each in json.loads(done.stdout)}


@pytest.mark.parametrize("audit", AUDITS)
def test_audit(results: dict[str, dict[str, Any]], audit: str) -> None:
    result = results[audit]
    assert result["status"] == "ok", result.get("reason")


def test_there_are_no_other_audits(results: dict[str, dict[str, Any]]) -> None:
    assert len(AUDITS) == 61
    assert sorted(results) == sorted(AUDITS)
