"""What lists of nodes, edges and the like may be narrowed down to: None leaves a matter open."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage.records import NodeKind, RunStatus
from retrograph.storage.task_records import TaskStatus

_GREATEST = 0x10FFFF
_SURROGATES = 0xD800
_AFTER_SURROGATES = 0xE000


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """All that is given must hold; `key_prefix` is compared by the bytes of its UTF-8 text."""

    kind: NodeKind | None = None
    validity: frozenset[Validity] | None = None
    pinned: bool | None = None
    ids: frozenset[int] | None = None
    keys: frozenset[str] | None = None
    key_prefix: str | None = None


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Edges of some types, out of one node, into one node."""

    types: frozenset[EdgeType] | None = None
    source_id: int | None = None
    target_id: int | None = None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Runs by what became of them, by their root, by their exact reason."""

    status: frozenset[RunStatus] | None = None
    root_id: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Tasks by where they stand, and by their node."""

    status: frozenset[TaskStatus] | None = None
    node_id: int | None = None


@dataclass(frozen=True, slots=True)
class StepFilter:
    """Steps of one checkpoint; `key_prefix` as that of nodes."""

    sequence: int | None = None
    key_prefix: str | None = None


def after_prefix(prefix: str) -> str | None:
    """The least text that follows every text with this prefix; None where there is none.

    In the order of code points, which is that of UTF-8 bytes.  Surrogates are no characters, and
    nothing follows a last character that is the greatest but what follows the text before it.
    """
    kept = prefix.rstrip(chr(_GREATEST))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(_AFTER_SURROGATES if following == _SURROGATES else following)
