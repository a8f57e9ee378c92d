"""Evidence: a URI with a note that hangs on a node."""

from __future__ import annotations

import strawberry

from retrograph.storage.records import EvidenceRecord


@strawberry.type(description="Something brought forward for a node.")
class Evidence:
    id: strawberry.ID = strawberry.field(description="A 64-bit number, for ever this evidence's.")
    uri: str = strawberry.field(description="Where it is found; unique on its node.")
    note: str | None = strawberry.field(description="What it shows.")

    @classmethod
    def of(cls, record: EvidenceRecord) -> Evidence:
        """The evidence that a record tells of."""
        return cls(id=strawberry.ID(str(record.id)), uri=record.uri, note=record.note)
