"""What lists of nodes, edges and the like may be narrowed down to: None leaves a matter open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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


class Matched(Protocol):
    """What a filter looks at of a node as of an instant."""

    @property
    def id(self) -> int: ...
    @property
    def key(self) -> str | None: ...
    @property
    def kind(self) -> NodeKind: ...
    @property
    def validity(self) -> Validity: ...
    @property
    def pinned(self) -> bool: ...


def passes(filter: NodeFilter, node: Matched) -> bool:
    """Whether a node passes a filter; lists of nodes ask the database the same."""
    prefix = filter.key_prefix
    return (
        filter.kind in (None, node.kind)
        and (filter.validity is None or node.validity in filter.validity)
        and filter.pinned in (None, node.pinned)
        and (filter.ids is None or node.id in filter.ids)
        and (filter.keys is None or node.key in filter.keys)
        and (prefix is None or (node.key is not None and node.key.startswith(prefix)))
    )


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
