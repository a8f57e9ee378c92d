"""Loads ScriptDom, Microsoft's own T-SQL parser, into this process.

It comes with `requirements-tsql.lock`, for Linux on x86-64: a .NET runtime and the assembly, both
inside Python packages.  Nothing of it is part of the project.
"""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.missing import missing

_PACKAGES = ("clr_loader", "dotnetcore2", "mssqlcli", "pythonnet")
_ASSEMBLY = "Microsoft.SqlServer.TransactSql.ScriptDom"
_CONFIGURATION = {
    "runtimeOptions": {
        "tfm": "netcoreapp3.1",
        "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
    }
}


def need_parser() -> None:
    """Skips the test where the parser can't be loaded, but fails it under CI."""
    absent = [name for name in _PACKAGES if find_spec(name) is None]
    if absent:
        what = f"the parser of SQL Server (by {', '.join(absent)})"
        missing(what, "Run: make .venv/.parser (Linux on x86-64)")


@cache
def scriptdom() -> Any:
    """The namespace of the parser and its syntax tree."""
    os.environ.setdefault("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
    loader, pythonnet = _module("clr_loader"), _module("pythonnet")
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "runtime.json"
        configuration.write_text(json.dumps(_CONFIGURATION))
        runtime = loader.get_coreclr(
            runtime_config=str(configuration), dotnet_root=str(_folder("dotnetcore2") / "bin")
        )
        pythonnet.load(runtime)
    tools = _folder("mssqlcli") / "mssqltoolsservice" / "bin"
    _module("clr").AddReference(str(tools / f"{_ASSEMBLY}.dll"))
    return _module(_ASSEMBLY)


def reader(text: str) -> Any:
    """A .NET reader of a text."""
    return _module("System.IO").StringReader(text)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
