"""What a test needs and this machine lacks: skipped aloud by a user, a failure under CI."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from types import ModuleType
from typing import NoReturn

import pytest

from tests.shared import ROOT

NODE = ROOT / "tests" / "node"
"""Where the scripts for Node lie, and the packages that they import."""


def missing(what: str, remedy: str) -> NoReturn:
    """Skip the test, but fail it under CI; `remedy` is a package of Debian or what to do.

    A module that calls this while it is imported skips the whole file of tests that needs it.
    """
    advice = remedy if " " in remedy else f"On Debian or Ubuntu: apt install {remedy}"
    reason = f"{what} is missing. {advice}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def driver_manager() -> ModuleType:
    """Return the bridge to ODBC, which can't be imported where no driver manager is installed."""
    try:
        return import_module("pyodbc")
    except ImportError:
        missing("the driver manager of ODBC", "unixodbc")


def program(name: str, package: str) -> str:
    """Return the path of a program; a daemon may be where only root's PATH leads."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    return shutil.which(name, path=path) or missing(name, package)


def browser() -> str:
    """Return the path of Chromium: the one that CHROMIUM names, or the first found."""
    named = os.environ.get("CHROMIUM")
    names = (named,) if named else ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None) or missing("chromium", "chromium")


def node_script(name: str) -> list[str]:
    """Return the command that runs a script of `tests/node`, given Node and its packages."""
    node = program("node", "nodejs")
    if not (NODE / "node_modules" / ".package-lock.json").exists():
        packages = (NODE / "node_modules").relative_to(ROOT)
        missing(str(packages), f"Run: make {packages}/.package-lock.json")
    return [node, str(NODE / name)]
