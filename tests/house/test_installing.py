"""The package is on no index: nothing tells anybody to install it by its name."""

from __future__ import annotations

from tests.shared import ROOT

ROOMS = ("retrograph", "schema", "resolvers", "storage", "sql", "docs")


def test_it_is_installed_from_a_checkout() -> None:
    files = [ROOT / "README.md", *(f for room in ROOMS for f in (ROOT / room).rglob("*.[mp][dy]"))]
    assert len(files) > 100
    told = {file: file.read_text().replace("'", "").replace("`", "") for file in files}
    assert [name for name, text in told.items() if "retrograph[" in text] == []
    assert [name for name, text in told.items() if "pip install retrograph" in text] == []
