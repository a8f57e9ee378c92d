"""Files and functions stay small enough to be read at a sitting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.files import product_modules, project_files
from tests.shared import ROOT

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 40


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or node.lineno
            yield f"{path}:{node.lineno} {node.name}", last - node.lineno + 1


def test_no_file_is_too_long() -> None:
    sources = [p for p in project_files() if p.suffix in {".py", ".sql"}]
    lengths = {str(p): len((ROOT / p).read_text().splitlines()) for p in sources}
    assert {p: n for p, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_too_long() -> None:
    lengths = dict(pair for path in product_modules() for pair in functions(path))
    assert {f: n for f, n in lengths.items() if n > MOST_LINES_OF_A_FUNCTION} == {}
