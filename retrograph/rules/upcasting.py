"""Upcasters: pure functions that bring a payload from one version of its schema to the next.

A payload is loaded in the current version: the one at the end of the chain of functions that begins
at its own. There may be several chains, for several kinds of payloads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from retrograph.rules.canonical_json import payload_text
from retrograph.rules.checkpoint_errors import UnknownSchemaVersion, UpcastFailed
from retrograph.rules.errors import ConfigurationError, InvalidInput


@dataclass(frozen=True, slots=True)
class Upcaster:
    """Brings payloads from the version `source` to the version `target`.

    `function` takes and gives a JSON value. It depends on nothing else, so that a state is the same
    whenever it is loaded; it may change what it is given, which is its own copy.
    """

    source: str
    target: str
    function: Callable[[Any], Any]


class Upcasters:
    """A registry. One without functions knows no versions: every payload is given as it is stored.

    `ConfigurationError` where two functions begin at one version, or a chain never ends.
    """

    def __init__(self, registered: Iterable[Upcaster] = ()) -> None:
        self._next: dict[str, Upcaster] = {}
        for each in registered:
            if each.source in self._next:
                raise ConfigurationError(
                    f"Two upcasters begin at version {each.source!r}; register one of them."
                )
            self._next[each.source] = each
        self._known = self._next.keys() | {each.target for each in self._next.values()}
        for version in self._next:
            self._check_ends(version)

    def check_known(self, version: str, *, path: tuple[str, ...] = ()) -> None:
        """`UnknownSchemaVersion` for a version that no function begins at or leads to."""
        if self._next and version not in self._known:
            raise UnknownSchemaVersion(
                f"The schema version {version!r} is not known here; known are "
                f"{', '.join(sorted(map(repr, self._known)))}. Register an upcaster for it.",
                path=path,
            )

    def upcast(self, version: str, payload: str) -> tuple[str, str]:
        """The current version and the payload in it, as canonical JSON text.

        `UnknownSchemaVersion`, and `UpcastFailed` where a function raises or gives what no commit
        takes as a payload.
        """
        self.check_known(version)
        if version not in self._next:
            return version, payload
        value = orjson.loads(payload)
        for step in self._steps(version):
            value, version = _called(step, value), step.target
        try:
            return version, payload_text(value)
        except InvalidInput as error:
            raise UpcastFailed(
                f"The upcast to version {version!r} gave what can't be stored: {error.message}"
            ) from error

    def _steps(self, version: str) -> Iterator[Upcaster]:
        while version in self._next:
            step = self._next[version]
            yield step
            version = step.target

    def _check_ends(self, version: str) -> None:
        for count, _ in enumerate(self._steps(version)):
            if count >= len(self._next):
                raise ConfigurationError(
                    f"The upcasters from version {version!r} go round in a circle; end it."
                )


NO_UPCASTERS = Upcasters()


def _called(step: Upcaster, value: object) -> object:
    try:
        given = step.function(value)
    except Exception as error:
        raise _failed(step, f"failed: {type(error).__name__}") from error
    if given is None:
        raise _failed(step, "gave null; let it return the state that it changes")
    return given


def _failed(step: Upcaster, how: str) -> UpcastFailed:
    return UpcastFailed(
        f"The upcaster from version {step.source!r} to {step.target!r} {how}. Mend it; what is "
        "stored stays as it is."
    )
