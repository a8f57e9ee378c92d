"""The client stands alone: it loads nothing of the server, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys

from tests.shared import ROOT

SERVER = (
    *("click", "graphql", "jwt", "numpy", "pyodbc", "redis", "rich", "sqlalchemy", "sqlite3"),
    *("starlette", "strawberry", "uvicorn"),
)
IMPORT = f"""
import sys
for name in {(*SERVER,)!r}:
    sys.modules[name] = None
import retrograph.client
loaded = {{name.split(".")[1] for name in sys.modules if name.startswith("retrograph.")}}
assert loaded == {{"client", "rules"}}, loaded
"""
WITHOUT = """
import sys
sys.modules["httpx"] = None
import retrograph.client
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_loads_nothing_of_the_server() -> None:
    done = run(IMPORT)
    assert done.returncode == 0, done.stderr


def test_it_says_how_to_install_what_it_lacks() -> None:
    assert "pip install '.[client]'" in run(WITHOUT).stderr
