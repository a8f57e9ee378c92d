"""What was traced, in the memory of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from retrograph import tracing


class Traces:
    """The spans that have ended, in that order."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [each for each in self.spans if each.name == name]

    def one(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def parent(self, span: ReadableSpan) -> str | None:
        """The name of the span that this one is part of; its id where that isn't ours."""
        if span.parent is None:
            return None
        names = {ids(each)[1]: each.name for each in self.spans}
        parent = f"{span.parent.span_id:016x}"
        return names.get(parent, parent)


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Of the trace, and of the span in it."""
    own = span.get_span_context()
    assert own is not None
    return f"{own.trace_id:032x}", f"{own.span_id:016x}"


@contextmanager
def tracing_here() -> Iterator[Traces]:
    traces = Traces()
    tracing.begin(traces.provider)
    try:
        yield traces
    finally:
        tracing.end()
        traces.provider.shutdown()
