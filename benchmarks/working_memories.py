"""Working memory: what an update and a read cost, and what a model is spared."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from random import Random

from benchmarks.measure import Row, compare, interleaved, timed
from benchmarks.sizes import Sizes
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.working_memory import get_working_memory, update_working_memory
from retrograph.rules.budget import update_memory
from retrograph.rules.memory_document import to_document
from retrograph.rules.tokens import estimate_tokens
from retrograph.rules.working_memory import Observed, RegisterWrite, Update, WorkingMemory
from retrograph.storage.store import open_store

_UPDATE = Update(
    sub_goal="read the meter",
    registers=[RegisterWrite("reading", 1204)],
    observations=[Observed("meter", "The meter stood at 1204 kWh. " * 10)],
)
_WORDS = [
    "reading",
    "tariff",
    "invoice",
    "meter",
    "region",
    "contract",
    "error",
    "retry",
    "note",
    "kWh",
    "date",
    "bill",
]
_CLAIM = 0.22
"""What is left of the raw history by the claim that is measured here: 78 % less."""


def working_memory(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Updates and reads against a bare row; then the tokens of whole tasks."""
    with closing(open_store(str(folder / "memory.db"))) as store:
        store.write_all(1, [1], lambda _: None)
        scope = Scope(store, 1, None, frozenset(Role))
        yield from _costs(scope, folder / "bare.db", sizes)
    yield tokens_of_tasks(sizes.tasks)


def _costs(scope: Scope, path: Path, sizes: Sizes) -> Iterator[Row]:
    text = json.dumps(to_document(update_working_memory(scope, 1, "s", _UPDATE).memory))
    numbers = count()
    with closing(sqlite3.connect(path, isolation_level=None)) as bare:
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("CREATE TABLE memory (session TEXT PRIMARY KEY, n INTEGER, state TEXT)")
        bare.execute("INSERT INTO memory VALUES ('s', 0, ?)", (text,))
        changed = "UPDATE memory SET n = ?, state = ? WHERE session = 's'"
        tasks = {
            "update": lambda: timed(lambda: update_working_memory(scope, 1, "s", _UPDATE)),
            "bare update": lambda: timed(lambda: bare.execute(changed, (next(numbers), text))),
            "read": lambda: timed(lambda: get_working_memory(scope, 1, "s")),
            "bare read": lambda: timed(lambda: bare.execute("SELECT * FROM memory").fetchall()),
        }
        seconds = interleaved(sizes.recalls, tasks)
    for name, act in (("Update", "update"), ("Read", "read")):
        what = f"{name} of a working memory against a bare row"
        yield compare(what, None, seconds, act, f"bare {act}", with_p99=True)


def tokens_of_tasks(tasks: int) -> Row:
    """The tokens that a model is given over a task: the memory's at each step, or all that was."""
    pairs = [_task(Random(seed)) for seed in range(tasks)]
    left = sum(rendered for rendered, _ in pairs) / sum(raw for _, raw in pairs)
    what = f"Tokens of {tasks} tasks of 35–60 steps: the working memory against the history"
    note = f"{left - 1:+.0%} in all; every parameter of step 2 is in the last text"
    return Row(what, tuple(rendered / raw for rendered, raw in pairs), _CLAIM, note)


def _task(random: Random) -> tuple[int, int]:
    """The tokens of all texts that a model is given: of the memory, and of the history."""
    memory, history, text = WorkingMemory(), "", ""
    rendered = raw = 0
    kept = {f"parameter {n}": random.randint(0, 10**9) for n in range(6)}
    for step in range(random.randint(35, 60)):
        answer = " ".join(random.choices(_WORDS, k=random.randint(100, 900)))
        pinned = [RegisterWrite(name, value, pinned=True) for name, value in kept.items()]
        update = Update(
            goal="Correct the bill" if step == 0 else None,
            sub_goal=f"step {step}",
            registers=pinned if step == 1 else [RegisterWrite(f"note {step}", answer[:80])],
            observations=[Observed("tool", answer)],
        )
        updated = update_memory(memory, update, estimate_tokens)
        memory, text = updated.memory, updated.rendered
        history += f"tool: {answer}\n"
        rendered += updated.tokens
        raw += estimate_tokens(history)
    lost = [name for name in kept if f"- {name} (pinned) = {kept[name]}\n" not in text]
    if lost:
        raise AssertionError(f"pinned, and gone: {lost}")
    return rendered, raw
