"""Where the data that lies beside the checkout is found."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def shared(path: str) -> Path:
    """Return the absolute path of `path` in the folder `shared` beside the checkout.

    The file need not exist: a test that can do without it decides by `.exists()`.
    """
    return (ROOT / ".." / "shared" / path).resolve()
