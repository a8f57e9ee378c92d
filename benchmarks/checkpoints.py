"""Checkpoints: a durable commit and a read against LangGraph's savers and a bare write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.checkpoint_stores import AsyncSaver, BareFile, Ours, Saver, Store, state
from benchmarks.measure import Row, Task, compare, interleaved, timed
from benchmarks.sizes import Sizes

KILOBYTES = (2, 10, 50)
SHARED = 10
"""Kilobytes of what many writers put."""
OURS, SAVER, ASYNC, BARE = "ours", "SqliteSaver", "AsyncSqliteSaver", "bare write + fdatasync"
OURS_ASYNC = "ours, awaited"


def checkpoints(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Puts and reads by size, then many writers at once."""
    for kilobytes in KILOBYTES:
        with ExitStack() as stack:
            yield from _by_size(folder / f"{kilobytes}", kilobytes, sizes, stack)
    with ExitStack() as stack:
        yield _at_once(folder / "shared", sizes, stack)


def _by_size(folder: Path, kilobytes: int, sizes: Sizes, stack: ExitStack) -> Iterator[Row]:
    folder.mkdir()
    ours, saver = stack.enter_context(Ours(folder)), stack.enter_context(Saver(folder))
    awaited = stack.enter_context(AsyncSaver(folder))
    bare, what, count = stack.enter_context(BareFile(folder)), state(kilobytes), sizes.commits
    puts = interleaved(
        sizes.rounds,
        {
            OURS: _puts(ours, what, count),
            SAVER: _puts(saver, what, count),
            BARE: lambda: timed(lambda: bare.put(what, count)) / count,
            OURS_ASYNC: lambda: timed(lambda: ours.put_awaited(what, count)) / count,
            ASYNC: _puts(awaited, what, count),
        },
    )
    size = f"{kilobytes} KB"
    yield compare(f"Put of {size} against `SqliteSaver`", 1.0, puts, OURS, SAVER)
    yield compare(f"Put of {size} against a bare write + `fdatasync`", 1.5, puts, OURS, BARE)
    yield _faster(f"`AsyncSqliteSaver`'s put of {size} against ours", 2, puts, ASYNC, OURS_ASYNC)
    gets = interleaved(
        sizes.rounds,
        {name: _gets(kind, count) for name, kind in _readers(ours, saver, awaited)},
    )
    yield _faster(f"`AsyncSqliteSaver`'s get of {size} against ours", 10, gets, ASYNC, OURS)
    yield compare(f"Get of {size} against `SqliteSaver`", None, gets, OURS, SAVER)


def _readers(ours: Store, saver: Store, awaited: Store) -> tuple[tuple[str, Store], ...]:
    return (OURS, ours), (SAVER, saver), (ASYNC, awaited)


def _at_once(folder: Path, sizes: Sizes, stack: ExitStack) -> Row:
    folder.mkdir()
    ours, saver = stack.enter_context(Ours(folder)), stack.enter_context(Saver(folder))
    pool = stack.enter_context(ThreadPoolExecutor(sizes.writers))
    each, what = max(1, sizes.commits // 10), state(SHARED)

    def together(store: Store) -> float:
        put = partial(_put, store, what, each)
        return timed(lambda: list(pool.map(put, range(sizes.writers))))

    tasks: dict[str, Task] = {OURS: lambda: together(ours), SAVER: lambda: together(saver)}
    seconds = interleaved(sizes.rounds, tasks)
    told = f"`SqliteSaver`'s time for {sizes.writers} writers of {SHARED} KB against ours"
    return _faster(told, 5, seconds, SAVER, OURS)


def _put(store: Store, what: dict[str, object], count: int, writer: int) -> None:
    store.put(what, count, f"writer {writer}")


def _puts(store: Store, what: dict[str, object], count: int) -> Task:
    return lambda: timed(lambda: store.put(what, count)) / count


def _gets(store: Store, count: int) -> Task:
    get: Callable[[int], None] = store.get
    return lambda: timed(lambda: get(count)) / count


def _faster(what: str, aim: float, seconds: dict[str, list[float]], theirs: str, ours: str) -> Row:
    return compare(what, aim, seconds, theirs, ours, at_least=True)
