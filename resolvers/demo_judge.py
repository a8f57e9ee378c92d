"""A judge that knows no more than rules: it looks at what a node rests on, as a task tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity

NEEDED = {EdgeType.REQUIRES.name, EdgeType.VALID_ONLY_WHEN.name, EdgeType.DERIVED_FROM.name}
_DEAD = {Validity.INVALID.name, Validity.SUPERSEDED.name}
_BY = "the demo's rules"


def judge_by_rules(sheet: Mapping[str, Any]) -> dict[str, object]:
    """Refutes what was derived from, or requires, something dead, and what lost all support.

    All else still says what it said.  `sheet` is that of `task_sheet`, as JSON tells it.
    """
    for each in sheet["sources"]:
        if each["type"] in NEEDED and each["node"]["validity"] in _DEAD:
            name = each["node"]["key"] or each["node"]["id"]
            note = f"{each['type']} {name}, which is {each['node']['validity']}"
            return {"outcome": "REFUTED", "note": note, "by": _BY}
    support = [each["stands"] for each in sheet["sources"] if each["type"] == "SUPPORTED_BY"]
    if support and not any(support):
        return {"outcome": "REFUTED", "note": "nothing supports it any more", "by": _BY}
    return {"outcome": "VERIFIED", "unchanged": True, "by": _BY}
