"""Where commands write: the standard output, or a file that is there when it is complete."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from retrograph.rules.errors import ConfigurationError, OutputFailed

STDIO = "-"

_BESIDE = ("", "-wal", "-shm", "-journal")
"""What the names of a database's files end with."""


def standard_output() -> BinaryIO:
    """The standard output, for bytes; raises `OutputFailed` where it is closed."""
    if sys.stdout is None:
        raise OutputFailed("The standard output is closed; open it, or name a file.")
    return sys.stdout.buffer


@contextmanager
def output(file: str, database: Path | None) -> Iterator[BinaryIO]:
    """Where an export of a database, held by the file `database` if any, goes.

    That is `file`, packed if its name ends with .gz.  A regular file is replaced when the export is
    complete, and not before; a link leads on to the file that it names.  What is no regular file (a
    device, a pipe) is written to as it stands.  Raises `ConfigurationError` for the database
    itself, `OutputFailed`.
    """
    if file == STDIO:
        yield standard_output()
        return
    try:
        with _opened(Path(file), database) as sink:
            if file.endswith(".gz"):
                with gzip.GzipFile("", "wb", 6, sink, 0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield sink
    except OSError as error:
        raise OutputFailed(
            f"{file} can't be written: {error.strerror}. Name another file."
        ) from error


def _opened(file: Path, database: Path | None) -> AbstractContextManager[BinaryIO]:
    replaced = _is_replaced(file)
    if database is not None:
        _check_apart(file, database)
    return _replaced(file) if replaced else file.open("wb")


def _check_apart(file: Path, database: Path) -> None:
    """Refuses the database's own files, by whatever name, and also those that aren't there yet."""
    database = database.resolve()
    for ending in _BESIDE:
        part = database.with_name(database.name + ending)
        if file.resolve() == part or (file.exists() and part.exists() and file.samefile(part)):
            raise ConfigurationError(f"{file} belongs to the database itself; name another file.")


def _is_replaced(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True


@contextmanager
def _replaced(file: Path) -> Iterator[BinaryIO]:
    """A file beside `file` that takes its place, and its mode, at the end; if all went well."""
    file = file.resolve()
    partial = file.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        if file.exists():
            shutil.copymode(file, partial)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
