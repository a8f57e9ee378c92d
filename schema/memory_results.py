"""What the mutations of working memory answer."""

from __future__ import annotations

from typing import Annotated

import strawberry

from retrograph.schema.errors import BudgetExceeded, InvalidInput, MemoryConflict, NotFound
from retrograph.schema.scalars import DateTime
from retrograph.schema.working_memory import WorkingMemory
from retrograph.storage.working_memories import WorkingMemoryRecord


@strawberry.type(description="The working memory is updated; its `evictions` made room.")
class WorkingMemoryUpdated:
    instant: DateTime = strawberry.field(description="The instant of the write.")
    memory: WorkingMemory = strawberry.field(description="The memory as it is now.")

    @classmethod
    def of(cls, record: WorkingMemoryRecord) -> WorkingMemoryUpdated:
        """What the use case has done."""
        return cls(instant=DateTime(record.as_of), memory=WorkingMemory.of(record))


UpdateWorkingMemoryResult = Annotated[
    WorkingMemoryUpdated | MemoryConflict | BudgetExceeded | NotFound | InvalidInput,
    strawberry.union(
        "UpdateWorkingMemoryResult", description="What `updateWorkingMemory` answers."
    ),
]
