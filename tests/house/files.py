"""What the checkout holds, and copies of it to build in."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.shared import ROOT

ROOMS = ("retrograph", "schema", "resolvers", "storage", "sql")


@cache
def project_files() -> tuple[Path, ...]:
    """Return every file of the checkout that git knows or would take, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted({Path(name) for name in listed.split("\0") if name})
    return tuple(name for name in names if (ROOT / name).exists())


def product_modules() -> list[Path]:
    """Return the Python files of the product, relative to the root; no tests, no benchmarks."""
    return [p for p in project_files() if p.suffix == ".py" and p.parts[0] in ROOMS]


def copy_checkout(target: Path) -> Path:
    """Copy the checkout's files, its links as links, into `target`; return `target`."""
    for name in project_files():
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    return target
