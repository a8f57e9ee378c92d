"""What becomes of a node that an import file gives, new or stored."""

from __future__ import annotations

from typing import Any

from retrograph.rules.errors import InvalidInput
from retrograph.storage.imports import GivenState
from retrograph.storage.node_writes import Content
from retrograph.storage.records import NodeKind, NodeRecord

_NEW_STATE = GivenState()
_NEW_CONTENT = Content(payload=None, contract_hash=None, base_confidence=1.0, expires_at=None)
_STATE = frozenset({"validity", "projected", "pinned", "pin_reason"})
_CONTENT = ("payload", "contract_hash", "base_confidence", "expires_at")


def kind_of(fields: dict[str, Any], stored: NodeKind | None) -> NodeKind:
    """The node's kind, which is needed for a new node and final for a stored one."""
    given: NodeKind | None = fields.get("kind", stored)
    if given is None:
        raise InvalidInput("A new node needs a kind.", path=("kind",))
    if stored is not None and given != stored:
        raise InvalidInput(
            f"The node is of the kind {stored.name} for ever; make another node.",
            path=("kind",),
        )
    return given


def content_of(fields: dict[str, Any], stored: NodeRecord | None) -> Content:
    """The content after the import: what is not given stays."""
    before = _NEW_CONTENT if stored is None else stored_content(stored)
    return Content(*(fields.get(name, getattr(before, name)) for name in _CONTENT))


def state_of(fields: dict[str, Any], stored: NodeRecord | None) -> GivenState:
    """The state after the import: as given, and what is not given stays.

    A given validity is the projected one too, unless that is given, which only a pinned node may
    have apart from its validity.  A node that is unpinned without a validity takes the one that
    cascades left on it.
    """
    before = _NEW_STATE if stored is None else stored_state(stored)
    if _STATE.isdisjoint(fields):
        return before
    pinned = fields.get("pinned", before.pinned)
    validity = fields.get("validity", before.validity)
    projected = fields.get("projected", validity if "validity" in fields else before.projected)
    if pinned:
        reason = fields.get("pin_reason", before.pin_reason)
        return GivenState(validity, projected, pinned, reason)
    if fields.get("projected", validity) != validity:
        raise InvalidInput(
            "Only a pinned node's projected validity differs from its validity.",
            path=("projected",),
        )
    kept = validity if "validity" in fields else projected
    return GivenState(kept, kept, pinned, None)


def stored_state(stored: NodeRecord) -> GivenState:
    """The state of a node at present."""
    return GivenState(stored.validity, stored.projected, stored.pinned, stored.pin_reason)


def stored_content(stored: NodeRecord) -> Content:
    """The content of a node at present."""
    return Content(stored.payload, stored.contract_hash, stored.base_confidence, stored.expires_at)
