"""The compose file and the hosted workflow: valid, healthy, and private to this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.shared import ROOT

COMPOSE = ROOT / "compose.yaml"
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yaml"
SERVERS = ("mariadb", "redis", "sqlserver")

SERVER = {
    "type": "object",
    "required": ["profiles", "image", "ports", "volumes", "healthcheck"],
    "properties": {
        "profiles": {"minItems": 1, "maxItems": 1},
        "image": {"type": "string", "pattern": ":[0-9]"},
        "ports": {"items": {"type": "string", "pattern": r"^127\.0\.0\.1:[0-9]+:[0-9]+$"}},
        "healthcheck": {"required": ["test", "interval", "timeout", "retries"]},
    },
}


def complaints(*arguments: str | Path) -> str:
    """What the validator says against a file; empty where it says nothing."""
    command = Path(sys.executable).parent / "check-jsonschema"
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def breaks(schema: Mapping[str, object], file: Path, folder: Path) -> str:
    path = folder / "schema.json"
    path.write_text(json.dumps(schema))
    return complaints("--schemafile", path, file)


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.compose-spec", COMPOSE), ("vendor.github-workflows", WORKFLOW)],
    ids=["compose", "workflow"],
)
def test_it_is_what_its_program_reads(schema: str, file: Path) -> None:
    assert complaints("--builtin-schema", schema, file) == ""


@pytest.mark.parametrize("name", SERVERS)
def test_each_server_has_a_profile_a_version_a_health_check_and_this_machine_alone(
    name: str, tmp_path: Path
) -> None:
    profile = {"properties": {"profiles": {"const": [name]}}}
    wanted = {"properties": {"services": {"required": [name], "properties": {name: SERVER}}}}
    named = {"properties": {"services": {"properties": {name: profile}}}}
    assert breaks(wanted, COMPOSE, tmp_path) == ""
    assert breaks(named, COMPOSE, tmp_path) == ""


def test_a_server_without_a_health_check_or_open_to_the_network_is_found(tmp_path: Path) -> None:
    wanted = {"properties": {"services": {"properties": {"redis": SERVER}}}}
    for cut, planted in (("    healthcheck:\n", "    labels:\n"), ('["127.0.0.1:6379', '["6379')):
        file = tmp_path / "compose.yaml"
        file.write_text(COMPOSE.read_text().replace(cut, planted))
        assert breaks(wanted, file, tmp_path) != ""


def test_the_workflow_runs_the_exam_on_the_server_that_it_starts() -> None:
    text = WORKFLOW.read_text()
    assert "- run: .ci/run" in text
    assert "image: mcr.microsoft.com/mssql/server:2022-latest" in text
    assert "RETROGRAPH_TEST_MSSQL_URL: mssql+pyodbc://" in text
    assert text.count("Retrograph-2022") == 3
