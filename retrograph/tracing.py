"""Spans of what the program does, for OpenTelemetry; while nobody traces, they are nothing.

A span says what was done, for how long, and by which code it failed: names, kinds and numbers,
never a variable, a payload, a key or a message. OpenTelemetry is imported when tracing begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from retrograph.rules.errors import RetrographError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from opentelemetry.trace import TracerProvider

P = ParamSpec("P")
T = TypeVar("T")


class Span(Protocol):
    """What is told of a piece of work; the current one while its context lasts, then ended."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None: ...

    def rename(self, name: str) -> None:
        """Gives it another name."""

    def tell(self, **attributes: str | int) -> None:
        """Adds attributes; `__` in a name stands for a dot."""

    def fail(self, code: str) -> None:
        """Says that it failed, and how."""

    def current(self) -> AbstractContextManager[object]:
        """Makes it the current one while the context lasts, and doesn't end it then."""

    def end(self) -> None:
        """Ends it, unless it has ended: what comes is no part of it any more."""


class _Nothing:
    """The span of what nobody traces."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def rename(self, name: str) -> None: ...

    def tell(self, **attributes: str | int) -> None: ...

    def fail(self, code: str) -> None: ...

    def current(self) -> AbstractContextManager[object]:
        return nullcontext()

    def end(self) -> None: ...


class _Tracing:
    """OpenTelemetry, as far as it is used."""

    def __init__(self, provider: TracerProvider | None) -> None:
        from opentelemetry import context, propagate, trace  # noqa: PLC0415 (an extra)

        self.context, self.propagate, self.trace = context, propagate, trace
        self.tracer = trace.get_tracer("retrograph", tracer_provider=provider)


class _Live:
    """A span that is recorded."""

    def __init__(self, on: _Tracing, name: str, kind: str, attributes: Mapping[str, Any]) -> None:
        self._on = on
        self._span = on.tracer.start_span(name, kind=on.trace.SpanKind[kind])
        self._token: Any = None
        self.tell(**attributes)

    def __enter__(self) -> Self:
        here = self._on.trace.set_span_in_context(self._span)
        self._token = self._on.context.attach(here)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._on.context.detach(self._token)
        if error is not None:
            self.fail(error.code if isinstance(error, RetrographError) else type(error).__name__)
        self.end()

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def tell(self, **attributes: str | int) -> None:
        for name, value in attributes.items():
            self._span.set_attribute(name.replace("__", "."), value)

    def fail(self, code: str) -> None:
        if self._span.is_recording():
            self._span.set_attribute("error.type", code)
            self._span.set_status(self._on.trace.StatusCode.ERROR)

    def current(self) -> AbstractContextManager[object]:
        use = self._on.trace.use_span
        here: AbstractContextManager[object] = use(
            self._span, record_exception=False, set_status_on_exception=False
        )
        return here

    def end(self) -> None:
        if self._span.is_recording():
            self._span.end()


_NOTHING = _Nothing()
_on: _Tracing | None = None


def begin(provider: TracerProvider | None = None) -> None:
    """Traces from now on, by the provider or the one of the process."""
    global _on  # noqa: PLW0603 (of the process, as the provider is)
    _on = _Tracing(provider)


def end() -> None:
    """Traces no more."""
    global _on  # noqa: PLW0603
    _on = None


def is_on() -> bool:
    """Whether anybody traces."""
    return _on is not None


def span(name: str, kind: str = "INTERNAL", **attributes: str | int) -> Span:
    """A new span, part of the current one if there is any; `kind` is one of OpenTelemetry's."""
    return _NOTHING if _on is None else _Live(_on, name, kind, attributes)


def part(name: str, kind: str = "INTERNAL", **attributes: str | int) -> Span:
    """A new span, but only as a part of one that is recorded and goes on."""
    if _on is None or not _on.trace.get_current_span().is_recording():
        return _NOTHING
    return _Live(_on, name, kind, attributes)


def carried(work: Callable[P, T]) -> Callable[P, T]:
    """The same work, as a part of what is done here, whichever thread does it."""
    on = _on
    if on is None:
        return work
    here = on.context.get_current()

    def there(*args: P.args, **kwargs: P.kwargs) -> T:
        token = on.context.attach(here)
        try:
            return work(*args, **kwargs)
        finally:
            on.context.detach(token)

    return there


def received(headers: Mapping[str, str]) -> AbstractContextManager[object]:
    """What is done in its context is part of what a request's headers name (W3C Trace Context)."""
    return nullcontext() if _on is None else _Received(_on, headers)


class _Received:
    def __init__(self, on: _Tracing, headers: Mapping[str, str]) -> None:
        self._on = on
        self._there = on.propagate.extract(headers)
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = self._on.context.attach(self._there)

    def __exit__(self, *_: object) -> None:
        self._on.context.detach(self._token)


def passed_on() -> dict[str, str]:
    """The headers that tell whoever is asked what it is part of."""
    headers: dict[str, str] = {}
    if _on is not None:
        _on.propagate.inject(headers)
    return headers
