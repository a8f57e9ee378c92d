"""Traces go where OpenTelemetry's variables say; without them, nothing of it is loaded."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from retrograph import tracing
from retrograph.rules.errors import ConfigurationError
from retrograph.settings import trace_exporter
from retrograph.storage.store import open_store
from retrograph.telemetry import traced
from tests.command import COMMAND, environment
from tests.schema.test_webhook import receiving, status
from tests.shared import ROOT

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("variables", "exporter"),
    [
        ({}, None),
        ({ENDPOINT: "http://127.0.0.1:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({"OTEL_TRACES_EXPORTER": "none", ENDPOINT: "http://127.0.0.1:4318"}, None),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "True"}, None),
    ],
)
def test_the_variables_say_whether_and_where_to(
    variables: dict[str, str], exporter: str | None
) -> None:
    assert trace_exporter(variables) == exporter


def test_spans_arrive_where_the_endpoint_is(tmp_path: Path) -> None:
    """Of a command that ends at once, too; beside `OTEL_SERVICE_NAME`, of what it is."""
    database = str(tmp_path / "memory.db")
    open_store(database).close()
    with receiving(status(200)) as (url, seen):
        about = {"OTEL_SERVICE_NAME": "swept", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"}
        said = run(*COMMAND, "sweep", "--database", database, **{ENDPOINT: url}, **about)
    assert said == "Expired 0, executed 0, failed 0, removed 0.\n"
    ((path, headers, body),) = seen
    assert (path, headers["a"]) == ("/v1/traces", "b")
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    told = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert told["service.name"] == "swept"
    assert "service.version" in told
    assert [each.name for scope in resource.scope_spans for each in scope.spans][-1] == "sweep"


def test_without_them_nothing_of_it_is_loaded() -> None:
    told = "import sys, retrograph.cli; print([n for n in sys.modules if 'opentelemetry' in n])"
    assert run(sys.executable, "-W", "error", "-c", told) == "[]\n"


def run(*command: str, **variables: str) -> str:
    """What a process says; nothing may go wrong."""
    env, pipe = environment(**variables), subprocess.PIPE
    done = subprocess.run(command, check=True, cwd=ROOT, env=env, stdout=pipe, stderr=pipe)
    assert done.stderr == b""
    return done.stdout.decode()


def test_without_the_extra_it_warns(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with caplog.at_level(logging.WARNING), traced("otlp"):
        assert not tracing.is_on()
    assert "the extra otel" in caplog.text


def test_an_exporter_that_nobody_offers_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="'nowhere'"), traced("nowhere"):
        pass
    assert not tracing.is_on()
