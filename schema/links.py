"""Types that refer to each other in a circle, by name: looked up when the schema is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import strawberry

if TYPE_CHECKING:
    from retrograph.schema.checkpoint import Checkpoint
    from retrograph.schema.decision import Decision
    from retrograph.schema.edge import MemoryEdge
    from retrograph.schema.evidence import Evidence
    from retrograph.schema.impact import Impact
    from retrograph.schema.node import MemoryNode
    from retrograph.schema.reached import Reached
    from retrograph.schema.run import InvalidationRun
    from retrograph.schema.staleness import Staleness
    from retrograph.schema.task import RevalidationTask

NodeLink = Annotated["MemoryNode", strawberry.lazy("retrograph.schema.node")]
EdgeLink = Annotated["MemoryEdge", strawberry.lazy("retrograph.schema.edge")]
RunLink = Annotated["InvalidationRun", strawberry.lazy("retrograph.schema.run")]
ImpactLink = Annotated["Impact", strawberry.lazy("retrograph.schema.impact")]
ReachedLink = Annotated["Reached", strawberry.lazy("retrograph.schema.reached")]
StalenessLink = Annotated["Staleness", strawberry.lazy("retrograph.schema.staleness")]
EvidenceLink = Annotated["Evidence", strawberry.lazy("retrograph.schema.evidence")]
TaskLink = Annotated["RevalidationTask", strawberry.lazy("retrograph.schema.task")]
CheckpointLink = Annotated["Checkpoint", strawberry.lazy("retrograph.schema.checkpoint")]
DecisionLink = Annotated["Decision", strawberry.lazy("retrograph.schema.decision")]
