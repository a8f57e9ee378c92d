"""How large the measured graphs are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of nodes, of versions a node, of repetitions; and the patience in seconds.

    `batch` is how many point reads are timed as one.
    """

    small: int = 10_000
    large: int = 100_000
    served: int = 50_000
    depth: int = 20
    layers: int = 12
    versions: int = 20
    batch: int = 1_000
    patience: float = 10.0
    rounds: int = 9


FULL = Sizes()
"""What the table reports."""

TINY = Sizes(
    small=60,
    large=120,
    served=60,
    depth=3,
    layers=3,
    versions=4,
    batch=5,
    patience=0.2,
    rounds=1,
)
"""What a test runs, to see that every benchmark still works."""
