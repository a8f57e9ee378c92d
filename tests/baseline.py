"""The schema that clients were promised, and how the present one differs from it.

`make baseline` promises the present one.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.missing import node_script
from tests.shared import ROOT

SCHEMA = ROOT / "schema" / "schema.graphql"
BASELINE = ROOT / "schema" / "baseline.graphql"
SECONDS = 120
"""After which the comparison is taken to hang."""


class Change(NamedTuple):
    """One difference; `level` is BREAKING, DANGEROUS or SAFE."""

    level: str
    path: str
    message: str


def compare(before: Path, after: Path) -> list[Change]:
    """How the schema in the second file differs from that in the first, by GraphQL Inspector."""
    command = [*node_script("sdl_diff.mjs"), str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return [Change(**each) for each in json.loads(done.stdout)]


def harmful(before: Path, after: Path) -> list[Change]:
    """The differences that break a client, or may: a new member of an enum that it matches on."""
    return [each for each in compare(before, after) if each.level != "SAFE"]


def name_of(baseline: bytes) -> str:
    """How the changelog names a baseline."""
    return hashlib.sha256(baseline).hexdigest()[:12]


def renew() -> None:
    """Promises the present schema, and tells what to write into the changelog."""
    found = harmful(BASELINE, SCHEMA)
    BASELINE.write_bytes(SCHEMA.read_bytes())
    for change in found:
        sys.stdout.write(f"{change.level}: {change.message}\n")
    name = name_of(BASELINE.read_bytes())
    sys.stdout.write(f"Tell it in CHANGELOG.md: - API baseline `{name}`: what clients must do.\n")


if __name__ == "__main__":
    renew()
