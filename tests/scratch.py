"""Where the tests keep their databases: in memory where there is room, as most wait for disks."""

from __future__ import annotations

import shutil
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ROOM = 8 << 30
"""Bytes: what a run of all tests, with some graphs of Debian, fits in."""


def _scratch() -> str | None:
    try:
        return str(_MEMORY) if shutil.disk_usage(_MEMORY).free >= _ROOM else None
    except OSError:
        return None


SCRATCH = _scratch()
"""A folder in memory; None, which means the system's folder for temporary files, without room."""
