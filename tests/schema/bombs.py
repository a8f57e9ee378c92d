"""Requests that are small to send and would be dear to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def doubling(levels: int) -> str:
    """A document of a few lines that spreads out to 2 ** levels fields."""
    rest = [
        f"fragment f{level} on Q {{ ...f{level + 1} ...f{level + 1} }}" for level in range(levels)
    ]
    return "\n".join(["{ a { ...f0 } }", *rest, f"fragment f{levels} on Q {{ a }}"])


def many(count: int, item: str) -> str:
    """An item over and over, numbered where it says `%d`."""
    return "".join(item.replace("%d", str(number)) for number in range(count))


def alike(count: int, item: str) -> str:
    """A node's fields, of which many have one name."""
    return '{ node(fleetId: 1, by: {id: "1"}) { ' + many(count, item) + "} } "


def put(payload: str) -> str:
    """A mutation that stores a payload, which is written into the document."""
    nodes = f"[{{kind: ASSERTION, payload: {payload}}}]"
    return f"mutation {{ putNodes(input: {{fleetId: 1, nodes: {nodes}}}) {{ __typename }} }}"


def deep_list(levels: int) -> list[Any]:
    """Lists inside one another."""
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


FRAGMENTS = doubling(18)
"""663 bytes."""
FIELDS = "{" + many(500, "n{x}") + "}"
"""2 kB."""

DOCUMENTS: Mapping[str, str] = {
    "fragments": FRAGMENTS,
    "many more fragments": doubling(99),
    "a circle of fragments": "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }",
    "fields": FIELDS,
    "deep fields": "{a " * 1_000,
    "fields alike": alike(160, "staleness { path { key } } "),
    "fields alike in fields alike": alike(20, "staleness { " + "path { key } " * 11 + "} "),
    "fields alike in inline fragments": alike(120, "... { staleness { path { key } } } "),
    "fields alike in fragments": alike(60, "...f%d ")
    + many(60, "fragment f%d on MemoryNode { staleness { path { key } } } "),
    "aliases": "{" + many(1_000, "a%d:__typename ") + "}",
    "directives": "{ __typename " + "@skip(if:false) " * 600 + "}",
    "unknown directives": "{ __typename " + "@x " * 1_500 + "}",
    "arguments": "{ viewer(" + many(1_000, "a%d:1 ") + ") { roles } }",
    "variables": "query (" + many(1_000, "$a%d:Int ") + ") { __typename }",
    "operations": many(800, "query q%d { __typename } "),
    "unused fragments": "{ __typename } " + many(700, "fragment f%d on Query { __typename } "),
    "words": "{" + "a " * 100_000 + "}",
    "brackets": "(" * 40_000,
    "quotes": '"""\\' * 10_000,
    "unknown types": "{" + many(100, "... on T%d { a } ") + "}",
    "a deep list": put("[" * 2_000 + "]" * 2_000),
    "a deep object": put("{a:" * 1_000 + "1" + "}" * 1_000),
    "a long list": put("[" + "1 " * 6_000 + "]"),
    "a huge integer": "{ nodes(fleetId: 1, first: " + "9" * 4_000 + ") { asOf } }",
    "a huge integer to store": put("9" * 20_000),
    "a huge float": "{ nodes(fleetId: 1, first: 1e" + "9" * 4_000 + ") { asOf } }",
    "a huge string": '{ nodes(fleetId: 1, after: "' + "x" * 100_000 + '") { asOf } }',
    "a huge block string": '{ nodes(fleetId: 1, after: """' + "\n x" * 100_000 + '""") { asOf } }',
    "a name of letters that GraphQL has not": "{ " + "ñ" * 1_000 + " }",
    "control characters": "{ \x00\x07\u2028 }",
    "introspection in a circle": "{ __schema { types {"
    + "fields { type { " * 6 + "name" + " } }" * 6 + " } } }",
}  # fmt: skip
"""Documents that are refused, by what they are made of."""

NODES = """query ($f: NodeFilter, $n: Int! = 1, $a: String, $i: ID! = 1) {
    nodes(fleetId: $i, filter: $f, first: $n, after: $a) { asOf } }"""

VARIABLES: Mapping[str, Any] = {
    "a long list": {"f": {"ids": ["1"] * 50_000}},
    "a long list of what can't be": {"f": {"ids": [{}] * 4_000}},
    "a deep list": {"f": {"ids": deep_list(900)}},
    "a huge integer": {"n": 10**4_000},
    "a huge float": {"n": 1e308},
    "a huge string": {"a": "x" * 1_000_000},
    "a huge id": {"i": "9" * 1_000_000},
    "unknown fields": {"f": {f"x{number}": 1 for number in range(5_000)}},
}
"""Variables of `NODES` that are refused."""
