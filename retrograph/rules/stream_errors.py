"""What goes wrong with streams; the tree is drawn in `errors`."""

from __future__ import annotations

from retrograph.rules.errors import RetrographError


class TooManyStreams(RetrographError):
    """The caller has as many subscriptions or sockets open as one may have."""

    code = "TOO_MANY_STREAMS"


class Lagged(RetrographError):
    """A subscriber reads more slowly than events come; `cursor` is that of the last one it got."""

    code = "LAGGED"

    def __init__(self, cursor: str) -> None:
        super().__init__(
            f"Events come faster than you read them. Go on behind {cursor} when you can, or ask "
            "for less."
        )
        self.cursor = cursor


class RelayRuns(RetrographError):
    """A relay is led by a process, or was until a moment ago."""

    code = "RELAY_RUNS"


class DeliveryFailed(RetrographError):
    """What a relay sends doesn't arrive; it stays in the outbox, and is sent again."""

    code = "DELIVERY_FAILED"
