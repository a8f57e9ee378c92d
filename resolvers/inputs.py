"""What callers give to the writing use cases, and how it is checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeKind, NodeRef


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""Stands for what was not given: it stays as it is, while None clears."""


class OnChange(IntEnum):
    """Whether changed content makes dependents stale, or is kept from them (a cosmetic edit)."""

    PROPAGATE = 1
    KEEP = 2


@dataclass(frozen=True, slots=True)
class NodeInput:
    """A node to make or to update; a `key` or `id` that exists is updated.

    `payload` is a JSON value, `expires_at` an instant, `expected_version` the `versionId` that an
    existing node must have.
    """

    key: str | None = None
    id: int | None = None
    kind: NodeKind | None = None
    payload: object | Unset = UNSET
    contract_hash: str | Unset | None = UNSET
    confidence: float | Unset | None = UNSET
    expires_at: int | Unset | None = UNSET
    expected_version: str | None = None


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """An edge to make: `target` depends on `source`."""

    source: NodeRef
    target: NodeRef
    type: EdgeType


@dataclass(frozen=True, slots=True)
class Invalidation:
    """A request to invalidate a node and, by the matrix, all that rests on it."""

    root: NodeRef
    reason: str
    effect: Validity = Validity.INVALID
    effective_at: int | None = None
    idempotency_key: str | None = None
    expected_plan: str | None = None
    expected_version: str | None = None


@dataclass(frozen=True, slots=True)
class Supersession:
    """A request to replace a node by another, which may exist already."""

    old: NodeRef
    by: NodeInput
    reason: str
    idempotency_key: str | None = None
    expected_plan: str | None = None
