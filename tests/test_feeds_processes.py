"""Servers, writers, subscribers and Redis as processes that come and go: the outbox stays whole.

How long the long tests go on, and by which seed of chance, the environment says: `SOAK_SECONDS` and
`SOAK_SEED`. `pytest -s` shows what happened.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.soak import Size, soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
SEED = int(os.environ.get("SOAK_SEED", "8"))


def told(database: str, folder: Path, size: Size) -> None:
    print(f"\nseed {SEED}, {size}")  # noqa: T201 (for whoever runs it)
    for what, count in sorted(soak(database, folder, size, SEED).counts.items()):
        print(f"{count:9,} {what}")  # noqa: T201


@pytest.mark.needs("file")
def test_every_subscriber_hears_the_outbox_whatever_is_killed(
    database: str, tmp_path: Path
) -> None:
    told(database, tmp_path, Size(servers=2, writers=1, subscribers=3, seconds=0))


@pytest.mark.long
@pytest.mark.needs("large_graphs")
def test_for_ten_minutes(database: str, tmp_path: Path) -> None:
    told(database, tmp_path, Size(servers=3, writers=4, subscribers=30, seconds=SECONDS))
