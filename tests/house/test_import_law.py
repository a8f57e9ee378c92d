"""The import law holds, and its keeper bites: each breach planted in a copy is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.files import copy_checkout, product_modules
from tests.shared import ROOT

LINT = """
import sys
sys.path.insert(0, ".")
from importlinter.cli import lint_imports_command
lint_imports_command()
"""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_law_holds() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("retrograph/rules/planted.py", "import retrograph.storage", "rules imports nobody"),
        ("retrograph/rules/planted.py", "import sqlite3", "rules knows no database"),
        ("sql/planted.py", "import retrograph.storage", "what stands below it"),
        ("storage/planted.py", "import retrograph.resolvers", "what stands below it"),
        ("schema/planted.py", "import numpy", "numpy is known in rules only"),
        ("retrograph/client/planted.py", "import retrograph.storage", "nothing of the server"),
        ("retrograph/client/planted.py", "import sqlalchemy", "nothing of the server"),
        ("resolvers/planted.py", "import sqlite3", "drivers are known in storage only"),
    ],
)
def test_a_breach_is_found(module: str, line: str, contract: str, tmp_path: Path) -> None:
    copy = copy_checkout(tmp_path)
    (copy / module).write_text(f"{line}\n")
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [said for said in done.stdout.splitlines() if " BROKEN" in said]
    assert any(contract in said for said in broken), done.stdout


def test_only_settings_reads_the_environment() -> None:
    readers = [
        path
        for path in product_modules()
        if path != Path("retrograph/settings.py")
        and any(word in (ROOT / path).read_text() for word in ("os.environ", "os.getenv"))
    ]
    assert readers == []


IMPORT_ALL = """
import importlib, pkgutil, sys
sys.modules["pyodbc"] = None
sys.path.insert(0, sys.argv[1])
import retrograph
for module in pkgutil.walk_packages(retrograph.__path__, "retrograph."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
"""


def test_every_module_imports_where_no_odbc_manager_is_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT_ALL, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
