"""The locks name every dependency once, pinned and hashed, and agree with each other."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.shared import ROOT

PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([^ ;]+)( ; [^\\]+)? \\$")


def pins(lock: str) -> dict[str, set[str]]:
    """Return each pinned name with its versions; environment markers may ask for several."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / lock).read_text().splitlines():
        if not line.startswith(("#", "    --hash=sha256:")):
            pin = PIN.match(line)
            assert pin is not None, f"{lock}: not a pin: {line}"
            found.setdefault(pin[1], set()).add(pin[2])
    return found


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower() for line in requirements}


def test_the_product_lock_pins_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert names(project["dependencies"]) <= pins("requirements.lock").keys()


@pytest.mark.parametrize("group", ["dev", "bench"])
def test_the_locks_of_groups_pin_these_too(group: str) -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert names(groups[group]) <= pins(f"requirements-{group}.lock").keys()


def test_development_runs_on_the_versions_of_the_product() -> None:
    product, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert {name: development.get(name) for name in product} == product


def test_what_is_measured_against_changes_no_version() -> None:
    development, peers = pins("requirements-dev.lock"), pins("requirements-bench.lock")
    shared = development.keys() & peers.keys()
    assert {name: peers[name] for name in shared} == {name: development[name] for name in shared}


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-dev.lock", "requirements-bench.lock"]
)
def test_every_pin_has_a_hash(lock: str) -> None:
    blocks = re.split(r"^(?=[a-z])", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_extras_are_those_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert sorted(extras) == ["all", "client", "langgraph", "mssql", "otel", "tokens"]
    assert extras["all"] == ["retrograph[mssql,langgraph,client,otel,tokens]"]
