"""What an edge passes from its source to its target: the propagation matrix."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from retrograph.rules.validity import DEAD, FALLEN, HEALTHY, STALE


class EdgeType(IntEnum):
    """How a target depends on its source; the numbers are the ones that are stored."""

    DERIVED_FROM = 1
    REQUIRES = 2
    CONTRADICTS = 3
    SUPERSEDES = 4
    VALID_ONLY_WHEN = 5
    SUPPORTED_BY = 6
    OBSERVED_FROM = 7


CEILING: Mapping[int, int] = MappingProxyType(
    {
        EdgeType.DERIVED_FROM: FALLEN,
        EdgeType.REQUIRES: DEAD,
        EdgeType.VALID_ONLY_WHEN: DEAD,
        EdgeType.SUPPORTED_BY: FALLEN,
        EdgeType.OBSERVED_FROM: STALE,
    }
)
"""The worst severity an edge type can give its target.

The effect of an edge is the lesser of this ceiling and the severity of its source: nothing makes
a dependent worse than its source. `SUPPORTED_BY` asks all supporters: see `SUPPORT_EFFECT`.
"""

EFFECT: tuple[bytes, ...] = tuple(
    bytes(min(ceiling, severity) for ceiling in range(DEAD + 1)) for severity in range(DEAD + 1)
)
"""The effect of an edge, `EFFECT[severity of its source][its ceiling]`."""

PROPAGATING: tuple[EdgeType, ...] = tuple(EdgeType(number) for number in CEILING)
"""The five types that a cascade follows."""

LIFTING: tuple[EdgeType, ...] = (EdgeType.CONTRADICTS, EdgeType.SUPERSEDES)
"""The two types whose source holds its target down: the target of a dead one is re-evaluated."""

SUPPORT_EFFECT: bytes = bytes(
    (
        *(HEALTHY, HEALTHY, HEALTHY, HEALTHY),  # no supporter was raised
        *(STALE, STALE, HEALTHY, HEALTHY),  # the worst raised supporter is potentially stale
        *(FALLEN, STALE, STALE, STALE),  # the worst raised supporter is worse than that
    )
)
"""What `SUPPORTED_BY` passes to a target, at `raised * 4 + stands * 2 + mild`.

`raised` is the worst severity, at most 2, among the supporters that were raised; `stands` is 1
if any supporter stands, `mild` 1 if any has a severity of 0 or 1.

Where a supporter stands, a potentially stale one passes nothing and a worse one passes 1. Where
none stands, the effect is the least severity among all supporters, at most 2, where a healthy
supporter that doesn't stand counts 1: hence 1 if a mild one is left, and 2 otherwise.
"""
