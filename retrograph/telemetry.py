"""Sends spans where OpenTelemetry's own variables say, while a command runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from retrograph import __version__, tracing
from retrograph.rules.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

EXPORTERS = "opentelemetry_traces_exporter"
"""The entry points by which packages offer exporters."""
_OURS: Mapping[str, str] = {"otlp": "otlp_proto_http"}

_log = logging.getLogger(__name__)


@contextmanager
def traced(exporter: str | None) -> Iterator[None]:
    """Traces to an exporter, named as in `OTEL_TRACES_EXPORTER`; None: not at all.

    Where the extra isn't installed it only warns: the variables may be meant for others. Raises
    `ConfigurationError` for an exporter that nobody offers.
    """
    provider = None if exporter is None else _provider(exporter)
    if provider is None:
        yield
        return
    tracing.begin(provider)
    try:
        yield
    finally:
        tracing.end()
        provider.shutdown()


def _provider(exporter: str) -> TracerProvider | None:
    """What sends batches of spans, set up by the variables that the SDK itself reads."""
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 (an extra)
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        _log.warning(
            "OTEL_* variables ask for traces; install the extra otel, or unset them. "
            "Nothing is traced."
        )
        return None
    about = Resource({"service.version": __version__}).merge(Resource.create())
    if str(about.attributes["service.name"]).startswith("unknown_service"):
        about = about.merge(Resource({"service.name": "retrograph"}))
    provider = TracerProvider(resource=about, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
    return provider


def _exporter(name: str) -> Any:
    for each in entry_points(group=EXPORTERS, name=_OURS.get(name, name)):
        return each.load()()
    raise ConfigurationError(
        f"OTEL_TRACES_EXPORTER names {name!r}, which no installed package offers; give otlp, "
        "console or none."
    )
