"""What an import file says, as values: nodes, edges and evidence by fleet, and runs in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from retrograph.resolvers.inputs import NodeInput
from retrograph.rules.errors import ImportRejected
from retrograph.rules.limits import MAX_KEY_LENGTH, check_text
from retrograph.rules.validity import Validity

EdgePlace = tuple[int, int, int]
"""Source and target, by their places in the file, and the number of the type."""


@dataclass(slots=True)
class GivenNode:
    """A node of the file: where it stands among the nodes, and the fields given, by name inside.

    Lines that name a node again add to its fields; later values win.
    """

    line: int
    ordinal: int
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GivenEvidence:
    """Evidence of the file; a note of None keeps a stored one."""

    ordinal: int
    note: str | None


@dataclass(frozen=True, slots=True)
class GivenRun:
    """A run that the file asks for: a supersession where `by` is given, else an invalidation."""

    line: int
    fleet_id: int
    key: str
    reason: str
    effect: Validity
    by: NodeInput | None


@dataclass(slots=True)
class FleetBatch:
    """A fleet's part of the file.

    Each key has a place, in the order of first mention; `lines` gives that mention's line by
    place.  Edges and evidence name nodes by place, since a node may follow on a later line.
    """

    keys: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    nodes: dict[int, GivenNode] = field(default_factory=dict)
    edges: dict[EdgePlace, int] = field(default_factory=dict)
    evidence: dict[tuple[int, str], GivenEvidence] = field(default_factory=dict)

    def place(self, key: str, line: int, field: str) -> int:
        """The place of a key, mentioned on `line`; a new one is checked as the value of `field`."""
        place = self.keys.get(key)
        if place is None:
            check_text(key, (field,), MAX_KEY_LENGTH)
            place = self.keys[key] = len(self.lines)
            self.lines.append(line)
        return place


@dataclass(slots=True)
class Batch:
    """A whole file.  The counts number nodes, edges and evidence over all fleets, in file order."""

    fleets: dict[int, FleetBatch] = field(default_factory=dict)
    runs: list[GivenRun] = field(default_factory=list)
    lines: int = 0
    nodes: int = 0
    edges: int = 0
    evidence: int = 0

    def fleet(self, fleet_id: int) -> FleetBatch:
        """The part of a fleet, which is made when it is first named."""
        batch = self.fleets.get(fleet_id)
        if batch is None:
            batch = self.fleets[fleet_id] = FleetBatch()
        return batch

    def fields(self, fleet_id: int, key: str | None) -> dict[str, Any]:
        """What the node lines of the file give of a node, by name inside; nothing if none does."""
        part = self.fleets.get(fleet_id)
        place = None if part is None or key is None else part.keys.get(key)
        return part.nodes[place].fields if part and place in part.nodes else {}

    def no_node(self, line: int, fleet_id: int, key: str) -> ImportRejected:
        """The refusal of a line that names a node which its fleet doesn't have."""
        for other, batch in self.fleets.items():
            if other != fleet_id and batch.keys.get(key) in batch.nodes:
                return ImportRejected(
                    line,
                    f"The node {key[:80]!a} is in fleet {other}, not in fleet {fleet_id}; "
                    "nothing joins nodes of two fleets.",
                )
        return ImportRejected(
            line,
            f"There is no node {key[:80]!a}, neither in this file nor in fleet {fleet_id}.",
        )
