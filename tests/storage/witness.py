"""Holds what one who commits was told against what is found after a kill."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from retrograph.resolvers.checkpoints import get_checkpoint
from retrograph.resolvers.commit_checkpoint import Commit
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.verify_checkpoints import verify_checkpoints

FLEET = 1


def state_of(sequence: int) -> dict[str, Any]:
    """The only state that the checkpoint of a sequence may hold: large enough to be deflated."""
    mark = hashlib.sha256(str(sequence).encode()).hexdigest()
    return {"step": sequence, "done": [mark[:8]] * (sequence % 800), "mark": mark}


def commit_of(name: str, sequence: int) -> Commit:
    """The only commit that makes the checkpoint of a sequence."""
    token = f"token {sequence}"
    state = state_of(sequence)
    return Commit(name, "session", sequence - 1, "plan", state, "1", token)


@dataclass(slots=True)
class Witness:
    """What was acknowledged of one execution, and all that went wrong, in words.

    `first` is the commit that a worker sends first when it resumes: it may have been made before.
    `began` tells whether the present worker has said where it is.
    """

    name: str
    told: dict[int, str] = field(default_factory=dict)
    resumed: int = 0
    first: int = 1
    made_before: bool = False
    began: bool = False
    faults: list[str] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The last sequence that was acknowledged."""
        return max(self.told, default=0)

    def resume(self, sequence: int, made: str | None, state: object) -> None:
        """Takes in the head (0, None, None for none) that is found at a start."""
        self.began = True
        self.resumed += 1
        if sequence < self.last:
            self._fault(f"{self.last} was acknowledged, and lost: the head is {sequence}")
        if sequence > self.last + 1:
            self._fault(f"{self.last} was acknowledged last, and the head is {sequence}")
        if self.told.get(sequence, made) != made:
            self._fault(f"{sequence} has another hash than was acknowledged")
        if state != (state_of(sequence) if sequence else None):
            self._fault(f"{sequence} was resumed with another state")
        self.first, self.made_before = self.last + 1, sequence > self.last

    def commit(self, asked: int, sequence: int, made: str, *, replayed: bool) -> None:
        """Takes in the answer to a commit that was to make the sequence `asked`."""
        if sequence != asked:
            self._fault(f"{asked} was committed as {sequence}")
        if asked == self.first and self.made_before and not replayed:
            self._fault(f"{asked} was applied twice")
        if asked != self.first and replayed:
            self._fault(f"{asked} was there before it was sent")
        self.told[sequence] = made

    def judge(self, scope: Scope) -> None:
        """Holds the whole chain against what was acknowledged, when all is over."""
        if not self.told:
            return
        found = verify_checkpoints(scope, FLEET, self.name)
        whole = self.last if found.head is None else found.head.sequence
        if found.fault is not None or found.checked != whole:
            self._fault(f"the chain is broken: {found.fault}")
        for sequence, made in self.told.items():
            stored = get_checkpoint(scope, FLEET, self.name, sequence)
            if stored is None or stored.hash != made:
                self._fault(f"{sequence} isn't what was acknowledged")

    def _fault(self, what: str) -> None:
        self.faults.append(f"{self.name}: {what}")
