"""Works on a fleet's tasks: claims, lets a judge look, completes; and ends well when told to."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event
from time import monotonic

from retrograph.cli_judges import Ask, failed, judge
from retrograph.resolvers.claim_revalidations import claim_revalidations, extend_lease
from retrograph.resolvers.complete_revalidation import Completion, complete_revalidation
from retrograph.resolvers.scope import Scope
from retrograph.resolvers.task_sheet import Sheet, task_sheet
from retrograph.rules.errors import InvalidInput, RequirementDead, TaskRefused
from retrograph.storage.task_records import TaskRecord

LEASE_SECONDS = 60
"""How long a task is held at a time; while it is judged the lease is extended."""
POLL_SECONDS = 0.2
"""How often an idle worker asks whether something was committed."""
IDLE_SECONDS = 5.0
"""After which it claims without news: a back-off or another's lease may have ended."""

Tell = Callable[[str], None]


@dataclass(slots=True)
class Worker:
    """Judges up to `concurrency` tasks at once; `tell` is told of each, on one line.

    Without `hears` it doesn't ask for news: somebody else does, and each is told to one only.
    """

    scope: Scope
    fleet_id: int
    name: str
    ask: Ask
    concurrency: int
    tell: Tell
    stopping: Event = field(default_factory=Event)
    hears: bool = True
    _running: dict[Future[None], TaskRecord] = field(default_factory=dict)
    _extended_at: float = 0.0

    def run(self, *, once: bool) -> None:
        """Works until it is told to stop or, with `once`, until nothing is ready.

        When it is told to stop it claims no more, and ends what it has begun.
        """
        with ThreadPoolExecutor(self.concurrency) as pool:
            while not self.stopping.is_set():
                self._news()  # what is committed from here on is told by the next poll
                found = self._claim(pool)
                if self._running:
                    self._attend()
                elif not found:
                    if once:
                        return
                    self._idle()
            while self._running:
                self._attend()

    def _claim(self, pool: ThreadPoolExecutor) -> bool:
        free = self.concurrency - len(self._running)
        if not free:
            return False
        if not self._running:
            self._extended_at = monotonic()
        found = claim_revalidations(self.scope, self.fleet_id, self.name, free, LEASE_SECONDS)
        self._running |= {pool.submit(self._judge, each): each for each in found}
        return bool(found)

    def _attend(self) -> None:
        """Waits for a judgement, but no longer than until the leases are to be extended."""
        left = self._extended_at + LEASE_SECONDS / 3 - monotonic()
        done, _ = wait(self._running, max(left, 0.0), FIRST_COMPLETED)
        for each in done:
            del self._running[each]
            each.result()
        if monotonic() >= self._extended_at + LEASE_SECONDS / 3:
            self._extend()

    def _extend(self) -> None:
        """Extends the leases of all that is being judged, however often others are done."""
        self._extended_at = monotonic()
        for task in self._running.values():
            with suppress(TaskRefused):  # it was cancelled: completing it will tell
                token = task.lease_token or ""
                extend_lease(self.scope, self.fleet_id, task.id, token, LEASE_SECONDS)

    def _idle(self) -> None:
        until = monotonic() + IDLE_SECONDS
        while monotonic() < until and not self.stopping.wait(POLL_SECONDS):
            if self._news():
                return

    def _news(self) -> bool:
        return self.hears and self.scope.store.poll()

    def _judge(self, task: TaskRecord) -> None:
        sheet = task_sheet(self.scope, task)
        completion = judge(self.ask, task, sheet)
        try:
            self._complete(completion, task, sheet)
        except TaskRefused as refusal:
            self.tell(f"{refusal.code} {_name(sheet)}: {refusal.message}")

    def _complete(self, completion: Completion, task: TaskRecord, sheet: Sheet) -> None:
        """Completes a task; what can't be taken as a judgement is an error of the judge."""
        try:
            complete_revalidation(self.scope, self.fleet_id, completion)
        except (InvalidInput, RequirementDead) as refusal:
            completion = replace(failed(task, refusal.message), by=None)
            complete_revalidation(self.scope, self.fleet_id, completion)
        note = f": {completion.note}" if completion.note else ""
        self.tell(f"{completion.outcome.name} {_name(sheet)}{note}")


def _name(sheet: Sheet) -> str:
    return str(sheet["node"]["key"] or sheet["node"]["id"])
