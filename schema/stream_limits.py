"""How long sockets and event streams wait for their peers, and how much one may ask."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Times are in seconds.

    `handshake` is how long a new socket may take to say `connection_init`; `keep_alive` the time
    between two signs of life; `reader` how long a peer may read nothing of what waits for it;
    `goodbye` how long operations may take to end when their stream must. `operations` is how many
    may run on one socket at once, `streams` how many subscriptions a caller may have open over all
    sockets and event streams, and how many sockets. `lag` is how long a
    subscriber that fell behind the others may take to catch up.
    """

    handshake: float = 15
    keep_alive: float = 20
    reader: float = 60
    goodbye: float = 3
    operations: int = 100
    streams: int = 1_000
    lag: float = 60


DEFAULT_STREAM_LIMITS = StreamLimits()
