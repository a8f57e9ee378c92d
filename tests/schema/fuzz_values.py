"""Values for operations by chance: what callers give, what lies at the edges, what does harm."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Known = dict[str, list[str]]

KNOWN: Mapping[str, list[str]] = {
    "id": ["1", "2", "3", "4", "5"],
    "key": ["a", "b", "c", "d", "e", "", "A", "ä", "a\u0301"],
    "cursor": ["0-0"],
    "endCursor": ["x"],
    "asOf": ["2026-03-01T00:00:00Z"],
    "at": ["2026-03-01T00:00:00.000001Z"],
    "planHash": ["0" * 64],
    "versionId": ["1:1"],
    "confirmation": ["yes"],
    "lease": ["1 x"],
}
"""What is known at first, by the names that answers give it; `lease`: a task's id and its token."""

INTEGERS = (1, 1, 2, 3, 10, 50, 100, 1_000, 0, -1, 1_001, 64, 65, 20, 21, 2**31 - 1, -(2**31))
FLEETS = ("1", "1", "1", "1", "1", "1", "2", "7", "9", "0", "-1")
IDS = ("0", "-1", "01", "+1", "1.0", "1e3", str(2**63 - 1), str(2**63), str(-(2**63)), "x", "١", "")
INSTANTS = (
    "1969-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
    "2026-02-30T00:00:00Z", "2026-01-01T00:00:00+00:00", "2026-01-01", "2038-01-19T03:14:08Z",
    "2026-06-30T23:59:60Z", "2026-01-01T00:00:00.1234567Z", "now", "",
)  # fmt: skip
TEXTS = (
    "because", "", " ", "\0", "\ud800", "%", "_", "\\", "'; DROP TABLE node; --", "\u202e",
    "é" * 99,
    "x" * 1_000, "x" * 1_001, "\n\r\t", "😀", "null", "\ufeff", "LINKED", "CONTENT_CHANGED",
)  # fmt: skip
PAYLOADS: tuple[Any, ...] = (
    None, {}, [], 0, -0.0, 1e308, 5e-324, 2**53 - 1, 2**53, 2**63, 10**30, True, "", "\ud800", "\0",
    {"a": {"b": [1, 2.5, None, {"c": "d"}]}}, {"": 0}, {"a\u0301": 1, "á": 2}, [[[[[[[[]]]]]]]],
    {"__proto__": 1}, {"x" * 1_000: "y" * 5_000},
)  # fmt: skip
VECTORS: tuple[Any, ...] = ([1, 0], [0, 1], "AACAPwAAAAA=", [0, 0], [1e39, 1], [], "AAA", "x")
FLOATS = (0, 1, 0.5, 0.1, -0.0, 1.0000001, -1, 1e308, 5e-324, 2**70)
HARMFUL: tuple[Any, ...] = (
    None, True, "", "x", 5, -1, 1.5, 2**31, 2**63, 10**40, [], [[]], {}, {"x": 1}, [None], "\0",
    "\ud800", "NaN", [1] * 2_000, {"id": "1", "key": "a"}, {"a": {"a": {"a": {}}}}, "9" * 5_000,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Raw:
    """The name of an enum's value: a word in a document, a text in JSON."""

    name: str


def scalar(type_: str, name: str, random: Random, known: Known) -> Any:
    """A value for an argument or a field of that name."""
    edge = random.random() < 0.15
    if type_ == "ID":
        return _id(name, random, known, edge=edge)
    if type_ == "String":
        return _text(name, random, known, edge=edge)
    values: dict[str, Sequence[Any]] = {
        "Int": INTEGERS if edge else INTEGERS[:7],
        "Float": FLOATS,
        "Boolean": (True, False),
        "JSON": PAYLOADS,
        "Long": IDS if edge else ("0", "0", "1", "2", "3"),
        "Vector": VECTORS,
        "DateTime": INSTANTS if edge else known["asOf"] + known["at"],
    }
    return random.choice(values[type_])


def hostile(random: Random) -> Any:
    """A value that hardly belongs where it is put."""
    return random.choice(HARMFUL)


def literal(value: Any) -> str:
    """The value as a document spells it."""
    if isinstance(value, Raw):
        return value.name
    if isinstance(value, list):
        return f"[{', '.join(literal(each) for each in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_word(name)}: {literal(each)}' for name, each in value.items())}}}"
    return json.dumps(value)


def _word(name: str) -> str:
    return name if re.fullmatch("[_A-Za-z][_0-9A-Za-z]*", name) else "x"


def _id(name: str, random: Random, known: Known, *, edge: bool) -> str:
    if name == "fleetId":
        return random.choice(FLEETS if edge else FLEETS[:7])
    if name == "expectedVersion":
        return random.choice(known["versionId"])
    if name == "taskId" and random.random() < 0.7:
        return known["lease"][0].split()[0]
    return random.choice(IDS if edge else known["id"])


def _text(name: str, random: Random, known: Known, *, edge: bool) -> str:
    if edge:
        return random.choice(TEXTS)
    if name == "after":
        return random.choice(known["cursor"] + known["endCursor"])
    if name == "expectedPlan":
        return random.choice(known["planHash"])
    if name == "leaseToken" and random.random() < 0.8:
        return known["lease"][0].split()[1]
    if name == "confirm":
        return known["confirmation"][-1]
    return random.choice(known["key"])
