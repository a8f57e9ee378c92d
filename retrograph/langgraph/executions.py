"""What a saver asks of Retrograph, however it is reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class HeadMoved(Exception):
    """The execution's head isn't the one that a commit goes on from; `head` is its sequence."""

    def __init__(self, head: int) -> None:
        super().__init__(f"The head is checkpoint {head}.")
        self.head = head


class CheckpointIdTaken(Exception):
    """A thread has a checkpoint of this id already, with another state: chains never change."""


@dataclass(frozen=True, slots=True)
class New:
    """A state to commit; `payload` is a JSON value."""

    execution: str
    session: str
    state_node: str
    token: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint as it is stored."""

    sequence: int
    payload: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """A step of the ledger that has succeeded: its key, and its result as a JSON value."""

    key: str
    result: Any


class Executions(Protocol):
    """The executions of one fleet.  Failures are those of the way that it takes."""

    def commit(self, new: New, expected: int) -> int:
        """Commits behind a sequence; gives its own.  `HeadMoved`, `CheckpointIdTaken`."""

    def head(self, execution: str) -> Found | None:
        """The last checkpoint."""

    def committed(self, execution: str, token: str) -> Found | None:
        """The checkpoint that a token committed; None where there is none, or none any more."""

    def page(self, execution: str, before: int | None, first: int) -> list[Found]:
        """Checkpoints below a sequence, newest first."""

    def names(self, prefix: str) -> Iterator[str]:
        """The names of the executions that begin so."""

    def enter(self, execution: str, entry: Entry) -> None:
        """Enters a step; a key that is known stays as it is known."""

    def entries(self, execution: str, prefix: str) -> Iterator[Entry]:
        """The steps whose keys begin so, in the order of their entry."""

    def retain(self, execution: str, keep_last: int) -> None:
        """Removes all but the last checkpoints for good."""

    def roll_back(self, execution: str, sequence: int, token: str) -> int:
        """Makes the state of an earlier checkpoint the head again; gives its sequence now."""

    def erase(self, execution: str, sequences: Sequence[int], keys: Sequence[str]) -> None:
        """Erases checkpoints but the head, and the results of steps, of any number."""

    def purge(self, execution: str) -> None:
        """Removes an execution for good, if it is there."""


BY = "langgraph"
"""Who signs off what a saver removes."""
PRUNED, DELETED, ERASED = "prune", "delete_thread", "delete_for_runs"
"""Why: what LangGraph has called."""
STEP = "writes of a task"
"""What the steps of a saver's ledger do."""
SCHEMA = "langgraph-1"
"""The version of the payloads."""
ROWS = 100
"""Names or steps of a page, and what is erased at a time."""


def batches(
    sequences: Sequence[int], keys: Sequence[str]
) -> Iterator[tuple[Sequence[int], Sequence[str]]]:
    """Checkpoints and steps that are to be erased, so many at a time."""
    for start in range(0, max(len(sequences), len(keys)), ROWS):
        yield sequences[start : start + ROWS], keys[start : start + ROWS]
