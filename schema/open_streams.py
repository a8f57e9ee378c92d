"""How much of what lasts each caller has open: subscriptions by any transport, and sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from retrograph.rules.stream_errors import TooManyStreams
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS

CallerKey = tuple[int, str | None]
"""A tenant, and the subject of the token; None where a token names none, or nobody needs one."""


class OpenStreams:
    """Counts for a process; at most `most` subscriptions a caller, and as many sockets.

    To be used in the event loop alone.
    """

    def __init__(self, most: int = DEFAULT_STREAM_LIMITS.streams) -> None:
        self._most = most
        self._open: Counter[tuple[str, CallerKey]] = Counter()

    @contextmanager
    def one_more(self, kind: str, caller: CallerKey) -> Iterator[None]:
        """Counts one while the context lasts; `kind` is its plural. Raises `TooManyStreams`."""
        key = kind, caller
        if self._open[key] >= self._most:
            raise TooManyStreams(
                f"You have {self._most} {kind} open, and may have no more; end one."
            )
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    def count(self, kind: str) -> int:
        """How many of a kind are open, of all callers."""
        return sum(count for (each, _), count in self._open.items() if each == kind)

    def __len__(self) -> int:
        """How many are open, of all callers."""
        return self._open.total()
