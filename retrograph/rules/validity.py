"""What a node is worth believing, and how severe a loss of belief is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

HEALTHY = 0
STALE = 1
FALLEN = 2
DEAD = 3
"""The four severities. A cascade only ever raises one."""


class Validity(IntEnum):
    """The validity of a node; the numbers are the ones that are stored."""

    CURRENTLY_VALID = 1
    POTENTIALLY_STALE = 2
    DEFINITELY_STALE = 3
    INVALID = 4
    SUPERSEDED = 5
    REVALIDATED = 6


SEVERITY: tuple[int, ...] = (HEALTHY, HEALTHY, STALE, FALLEN, DEAD, DEAD, HEALTHY)
"""Severity by the number of a validity; the number 0 is no validity."""

RAISED: Mapping[int, Validity] = MappingProxyType(
    {
        STALE: Validity.POTENTIALLY_STALE,
        FALLEN: Validity.DEFINITELY_STALE,
        DEAD: Validity.INVALID,
    }
)
"""The validity of a node that a cascade raised to a severity.

`SUPERSEDED` is given only to the node that a supersession names.
"""


def severity(validity: int) -> int:
    """Return 0 for a healthy validity, 1 potentially stale, 2 definitely stale, 3 dead."""
    return SEVERITY[Validity(validity)]


def is_healthy(validity: int) -> bool:
    """Say whether a node of this validity may be relied upon."""
    return severity(validity) == HEALTHY
