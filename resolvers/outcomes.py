"""What the writing use cases answer; every record was read at `instant`, that of the write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from retrograph.storage.records import EdgeRecord, EvidenceRecord, NodeRecord, RunRecord


@dataclass(frozen=True, slots=True)
class NodesPut:
    """The nodes in the order of the input, and a run for each whose content changed."""

    instant: int
    nodes: list[NodeRecord]
    runs: list[RunRecord]


@dataclass(frozen=True, slots=True)
class NodesLinked:
    """The edges in the order of the input, and the run that they started, if they did."""

    instant: int
    edges: list[EdgeRecord]
    run: RunRecord | None


@dataclass(frozen=True, slots=True)
class NodesUnlinked:
    """The ids of the edges that left the present."""

    instant: int
    edge_ids: list[int]


@dataclass(frozen=True, slots=True)
class NodePinned:
    """The node, and the run that unpinning started, if it did."""

    instant: int
    node: NodeRecord
    run: RunRecord | None


@dataclass(frozen=True, slots=True)
class EvidenceAdded:
    """The evidence and the node that it hangs on."""

    instant: int
    node: NodeRecord
    evidence: EvidenceRecord


@dataclass(frozen=True, slots=True)
class RunReverted:
    """The run that undid another, the nodes it restored, and those it left alone."""

    instant: int
    run: RunRecord
    restored: list[int]
    left_alone: list[int]


@dataclass(frozen=True, slots=True)
class RowsRewound:
    """How many rows a rewind takes out of the present, changes back, and brings back."""

    removed: int
    restored: int
    returned: int


@dataclass(frozen=True, slots=True)
class FleetRewound:
    """What a rewind to the instant `to` has done, or, on a dry run, would do.

    `rows` goes by what they are: nodes (their states), contents, edges, evidence.  `confirmation`
    is the text by which the caller agrees.
    """

    instant: int
    to: int
    dry_run: bool
    confirmation: str
    rows: Mapping[str, RowsRewound]
    tasks_cancelled: int
    tasks_opened: int
