"""docs/langgraph.md: its examples run, and what it tells of names and tables is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrograph.client import Client
from retrograph.langgraph.executions import SCHEMA
from retrograph.langgraph.place import ALL, Place
from retrograph.rules.upcasting import Upcaster, Upcasters
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "langgraph.md").read_text()
EMBEDDED, SERVED = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PORT = "http://127.0.0.1:8000/graphql"


def test_its_examples_run(
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETROGRAPH_TOKEN", "none.is.wanted")
    found: dict[str, object] = {"__name__": "page"}
    exec(EMBEDDED, found)  # the page's own code
    assert (tmp_path / "memory.db").exists()
    assert PORT in SERVED
    exec(SERVED.replace(PORT, client._address.http), found)
    assert capsys.readouterr().out.splitlines() == [
        "{'told': 'Hello, world!'}",
        "{'told': 'Hello, server!'}",
        "3 checkpoints",
    ]


def test_it_tells_how_threads_are_named() -> None:
    assert f"an execution: `{ALL}`, the thread, `/`, the namespace" in PAGE
    assert Place("a/b%", "c:1").execution == "langgraph/a%2Fb%25/c:1"


def test_one_function_makes_the_version_known() -> None:
    assert f"the version `{SCHEMA}`" in PAGE
    Upcasters([Upcaster("none", SCHEMA, dict)]).check_known(SCHEMA)
