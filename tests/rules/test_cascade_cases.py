"""Every shared case, to the letter, by every way of computing."""

from __future__ import annotations

import sys

import pytest

from retrograph.rules.cascade import Seeds, cascade
from retrograph.rules.validity import Validity
from tests.rules.cascade_cases import Case, cases, graph_of, impacts_of


@pytest.mark.parametrize("narrow", [sys.maxsize, -1, 4], ids=["node by node", "columns", "mixed"])
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_case(case: Case, narrow: int) -> None:
    asked = case["invalidate"]
    seeds = Seeds(roots={asked["root"]: Validity[asked["effect"]]})

    found = cascade(graph_of(case), seeds, narrow=narrow)

    assert impacts_of(found) == case["expect"]["impacts"]
