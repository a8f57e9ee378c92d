"""Retrograph: a memory graph for agents that can be asked about any instant of its past."""

from __future__ import annotations

__version__ = "0.1.0"
