"""Workers that crash, hang, err, answer late and answer twice; and what must hold all the same.

Time is a clock moved by hand and chance is seeded, so that a run can be had again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from zlib import crc32

from retrograph.resolvers.changes import list_changes
from retrograph.resolvers.claim_revalidations import claim_revalidations, requeue_revalidation
from retrograph.resolvers.complete_revalidation import Completion, Outcome, complete_revalidation
from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import Overtaken, RequirementDead, TaskCancelled, TaskRefused
from retrograph.rules.limits import MAX_FIRST
from retrograph.rules.validity import Validity
from retrograph.storage.changes import position_of
from retrograph.storage.filters import TaskFilter
from retrograph.storage.nodes import states_by_id
from retrograph.storage.open_work import all_open, open_tasks
from retrograph.storage.task_records import UNSURE, TaskRecord, TaskStatus
from retrograph.storage.tasks import page_tasks
from tests.clock import ManualClock

FLEET = 1
WORKERS = 8
LEASE = 30
SECOND = 1_000_000


def is_refuted(node_id: int) -> bool:
    """One in ten is found to be wrong, whoever judges it and when."""
    return crc32(f"{node_id} is wrong".encode()) % 10 == 0


def is_hard(node_id: int) -> bool:
    """One in twenty-five can't be judged until somebody has looked and put its task back."""
    return crc32(f"{node_id} is hard".encode()) % 25 == 0


@dataclass
class Simulation:
    """`sources` is whom each node rests on; `check` is called after every commit.

    `circle` tells who stands in a circle with a node: these become ready together. `wrong` are the
    nodes that are refuted, whoever judges them and when.
    """

    scope: Scope
    clock: ManualClock
    sources: Mapping[int, frozenset[int]]
    circle: Callable[[int], frozenset[int]]
    wrong: frozenset[int]
    check: Callable[[], None] = lambda: None
    random: Random = field(default_factory=Random)
    open: set[int] = field(default_factory=set)
    fallen: set[int] = field(default_factory=set)
    held: dict[int, str] = field(default_factory=dict)
    answers: list[Completion] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    requeued: set[int] = field(default_factory=set)
    seen: int = 0

    def run(self) -> None:
        """Works until nothing is open."""
        self.begin()
        while self.open:
            if not self.work():
                self.clock.advance(LEASE * SECOND)
                if not self.work():
                    self.requeue()

    def begin(self) -> None:
        """Takes in whatever is open."""
        self.seen = self.scope.clock(FLEET)
        with self.scope.snapshot(FLEET) as s:
            self.open = set(all_open(s))
        self.fallen |= self.open
        self.check()

    def work(self) -> int:
        """A round of all workers; returns how many tasks they were given."""
        given = [self.claim() for _ in range(WORKERS)]
        tasks = [task for each in given for task in each]
        self.random.shuffle(tasks)
        late = [answer for task in tasks if (answer := self.judge(task)) is not None]
        self.expire(late)
        return len(tasks)

    def claim(self) -> list[TaskRecord]:
        tasks = claim_revalidations(self.scope, FLEET, "w", self.random.randint(1, 3), LEASE)
        self.look()
        for task in tasks:
            token = self.held.get(task.id)
            assert token is None, f"task {task.id} is held twice"
            self.held[task.id] = task.lease_token or ""
            before = self.sources.get(task.node_id, frozenset()) & self.open
            assert before <= self.circle(task.node_id), f"{task.node_id} before {before}"
        return tasks

    def judge(self, task: TaskRecord) -> Completion | None:
        """Returns an answer that takes longer than the lease lasts; a crash leaves none."""
        fate = self.random.random()
        outcome = Outcome.REFUTED if task.node_id in self.wrong else Outcome.VERIFIED
        answer = Completion(task.id, task.lease_token or "", outcome)
        if fate < 0.10:
            self.counts["crashed" if fate < 0.05 else "timed out"] += 1
            return None if fate < 0.05 else answer
        if is_hard(task.node_id) and task.id not in self.requeued:
            answer = Completion(task.id, answer.lease_token, Outcome.ERROR)
        self.answer(answer, task)
        if fate > 0.9:
            self.refuse(answer)
        if self.answers and fate > 0.95:
            self.refuse(self.random.choice(self.answers))
        self.answers.append(answer)
        return None

    def expire(self, late: list[Completion]) -> None:
        """The leases end of what nobody has answered, and some answers come then."""
        if self.held:
            self.clock.advance((LEASE + 1) * SECOND)
            self.held.clear()
        for answer in late:
            self.refuse(answer)
        self.answers += late

    def answer(self, answer: Completion, task: TaskRecord) -> None:
        del self.held[task.id]
        try:
            complete_revalidation(self.scope, FLEET, answer)
        except Overtaken:
            self.counts["overtaken"] += 1
        except TaskCancelled:
            # Another worker's refutation has swept the node meanwhile.
            self.counts["cancelled"] += 1
        except RequirementDead:
            refuted = Completion(task.id, answer.lease_token, Outcome.REFUTED)
            complete_revalidation(self.scope, FLEET, refuted)
            self.counts["requirement dead"] += 1
        else:
            self.counts[answer.outcome.name] += 1
        self.look()

    def refuse(self, answer: Completion) -> None:
        """A late or a double answer changes nothing."""
        before = self.scope.clock(FLEET)
        try:
            complete_revalidation(self.scope, FLEET, answer)
        except TaskRefused as error:
            self.counts[error.code] += 1
            assert self.scope.clock(FLEET) == before
        else:
            raise AssertionError("a stale answer was taken")

    def requeue(self) -> None:
        """Puts dead letters back, and lets back-offs pass."""
        self.clock.advance(300 * SECOND)
        with self.scope.snapshot(FLEET) as s:
            wanted = TaskFilter(frozenset({TaskStatus.DEAD_LETTER}))
            tasks = page_tasks(s, wanted, MAX_FIRST, None).rows
        for task in tasks:
            requeue_revalidation(self.scope, FLEET, task.id)
            self.requeued.add(task.id)
            self.look()

    def look(self) -> None:
        """Takes in what the last commit changed, and holds it against the invariant."""
        touched = set(self._changed())
        with self.scope.snapshot(FLEET) as s:
            states = states_by_id(s, touched)
            tasks = open_tasks(s, touched)
        unsure = {n for n, (stored, _, pinned) in states.items() if stored in UNSURE and not pinned}
        assert tasks.keys() == unsure
        self.fallen |= unsure | {n for n, state in states.items() if state[0] == Validity.INVALID}
        self.open -= touched
        self.open |= tasks.keys()
        self.check()

    def _changed(self) -> Iterator[int]:
        since, self.seen = self.seen, self.scope.clock(FLEET)
        if since == self.seen:
            return
        after = None
        while True:
            page = list_changes(self.scope, FLEET, since, self.seen, MAX_FIRST, after)
            for row in page.rows:
                if row.node_id is not None:
                    yield row.node_id
            if not page.has_next:
                return
            after = position_of(page.rows[-1])


def dead_at_last(required: Iterable[tuple[int, int]], wrong: Iterable[int]) -> set[int]:
    """What a sequential judge is left with: what is wrong, and whatever requires it."""
    ahead: defaultdict[int, list[int]] = defaultdict(list)
    for source, target in required:
        ahead[source].append(target)
    found = set(wrong)
    left = list(found)
    while left:
        for each in ahead[left.pop()]:
            if each not in found:
                found.add(each)
                left.append(each)
    return found
