"""What falls, decided and not yet written: in this process's memory, or in the database's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Protocol

from retrograph.rules.cascade import Cascade, ImpactKind
from retrograph.rules.plan import plan_hash
from retrograph.storage.bulk import insert_rows
from retrograph.storage.task_records import Opening, openings_of

if TYPE_CHECKING:
    from retrograph.storage.write import Write

_COLUMNS = (
    "tenant_id", "fleet_id", "run_id", "ordinal", "node_id", "kind", "before", "after", "cause",
    "origin_id", "depth",
)  # fmt: skip


class Verdict(Protocol):
    """The impacts of a cascade; one without any changes nothing."""

    def __len__(self) -> int:
        """How many impacts there are."""

    def plan_hash(self) -> str:
        """See `retrograph.rules.plan`."""

    def written_as(self) -> int | None:
        """The run as which the engine has written it already: its impacts, states and events."""

    def write_impacts(self, write: Write, run_id: int) -> None:
        """Makes the impacts those of a run."""

    def openings(self, write: Write, run_id: int) -> list[Opening]:
        """The tasks that the impacts ask for, as those of a run."""

    def swept(self) -> list[int]:
        """The nodes of the impacts."""

    def note(self, write: Write) -> None:
        """Lets the warm graph follow."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """A verdict as columns."""

    cascade: Cascade

    def __len__(self) -> int:
        return len(self.cascade)

    def plan_hash(self) -> str:
        """The hash of the columns."""
        return plan_hash(self.cascade)

    def written_as(self) -> int | None:
        """No run yet."""
        return None

    def write_impacts(self, write: Write, run_id: int) -> None:
        """Inserts the rows."""
        snapshot, cascade = write.snapshot, self.cascade
        rows = zip(
            repeat(snapshot.tenant_id),
            repeat(snapshot.fleet_id),
            repeat(run_id),
            range(len(cascade)),
            cascade.nodes,
            cascade.kinds,
            cascade.before,
            cascade.after,
            cascade.causes,
            cascade.origins,
            cascade.depths,
            strict=False,  # the first three never end
        )
        insert_rows(snapshot.connection, snapshot.profile, "impact", _COLUMNS, rows)

    def openings(self, write: Write, run_id: int) -> list[Opening]:
        """Told by the columns; of a node that was not raised, only the graph knows the pin."""
        cascade, reevaluate = self.cascade, int(ImpactKind.REEVALUATE)
        pinned = [0] * len(cascade)
        for place, kind in enumerate(cascade.kinds):
            if kind == reevaluate:
                state = write.graph().state(cascade.nodes[place])
                pinned[place] = int(state is not None and state[2])
        told = zip(cascade.nodes, cascade.kinds, cascade.stored_after, pinned, strict=True)
        return openings_of(run_id, told)

    def swept(self) -> list[int]:
        """The column of nodes."""
        return list(self.cascade.nodes)

    def note(self, write: Write) -> None:
        """Tells what became of each node."""
        write.note_cascade(self.cascade)
