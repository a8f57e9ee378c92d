"""The project's files say nothing of the machine or the place they were written at."""

from __future__ import annotations

import re

import pytest

from tests.house.files import project_files
from tests.shared import ROOT

# Each pattern is spelt so that it doesn't match itself.
TRACES = {
    "a path of one machine": r"(?<![\w.$}/-])/(?:[w]ork|[t]mp|[h]ome|[r]oot|[U]sers)/",
    "a registry's host": r"[p]ypi\.org|[p]ythonhosted\.|registry\.[n]pmjs",
    "an index option": r"--(?:extra-)?[i]ndex-url|--[f]ind-links|--[t]rusted-host",
    "a merge conflict": r"^(?:[<]{7}|[>]{7}) ",
}


@pytest.mark.parametrize("what", TRACES)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(TRACES[what], re.MULTILINE)
    found = []
    for path in project_files():
        if (ROOT / path).is_file():
            text = (ROOT / path).read_bytes().decode("utf-8", "replace")
            found += [f"{path}: {hit.group()}" for hit in pattern.finditer(text)]
    assert found == []


def test_every_link_is_relative_and_leads_somewhere() -> None:
    links = [p for p in project_files() if (ROOT / p).is_symlink()]
    assert [p for p in links if (ROOT / p).readlink().is_absolute()] == []
    assert all((ROOT / p).resolve().is_relative_to(ROOT) for p in links)
