"""The tables of error codes, in the README and for HTTP, are all that the product has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.house.files import product_modules
from tests.shared import ROOT

CODE = r"[A-Z]+(?:_[A-Z]+)*"


@cache
def told() -> frozenset[str]:
    """The codes of the tables."""
    readme = (ROOT / "README.md").read_text().partition("### Errors\n")[2].partition("\n## ")[0]
    rows = re.findall(rf"^\| ((?:`{CODE}`(?:, )?)+) \|", readme, re.MULTILINE)
    http = (ROOT / "docs" / "http.md").read_text()
    rows += re.findall(rf"^\| \d+ \| (`{CODE}`) \|", http, re.MULTILINE)
    return frozenset(re.findall(CODE, " ".join(rows)))


def given(node: ast.AST) -> Iterator[ast.expr | None]:
    """What a node of a program gives as a code."""
    match node:
        case ast.Assign(targets=[ast.Name("code")], value=value):
            yield value
        case ast.AnnAssign(target=ast.Name("code"), value=value):
            yield value
        case ast.keyword(arg="code", value=value):
            yield value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield value
        case ast.Call(func=ast.Name("Refused"), args=[_, _, code, *_]):
            yield code


def codes_of(node: ast.AST) -> Iterator[str]:
    """The codes that a node gives in so many letters."""
    for value in given(node):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield from re.findall(rf"^{CODE}$", value.value)


def programs() -> Iterator[ast.AST]:
    """All nodes of the product's programs."""
    for path in product_modules():
        yield from ast.walk(ast.parse((ROOT / path).read_text()))


def test_every_code_stands_in_a_table() -> None:
    used = {code for node in programs() for code in codes_of(node)}
    assert {"INTERNAL", "WRONG_DIMENSION", "BAD_USER_INPUT", "REQUEST_TIMEOUT"} <= used
    assert sorted(used - told()) == []


def test_no_table_tells_of_a_code_that_nothing_has() -> None:
    texts = {node.value for node in programs() if isinstance(node, ast.Constant)}
    assert sorted(told() - texts) == []
