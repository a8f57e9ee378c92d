"""The lines of an import file, plain or gzip, with what can be wrong before a line is read."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO

from retrograph.resolvers.importing.gzip_stream import BLOCK, Unpacked
from retrograph.rules.errors import ImportRejected

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Bytes of one line, decompressed: room for a payload of the greatest size, however escaped."""

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much of it is done, and of how much, where that is known."""

_GZIP = b"\x1f\x8b"
_FOREIGN = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}


def import_lines(
    source: BinaryIO, size: int | None, progress: Progress
) -> Iterator[tuple[int, bytes]]:
    """The lines of `source` with their numbers from 1; gzip is known by its first bytes.

    `size` is that of the source in bytes, for the progress.  Raises `ImportRejected` for a line
    over `MAX_LINE_BYTES`, and for gzip data that is cut off or damaged: by the line after those
    that do unpack whole.  So it does where the source can't be read on.
    """
    counted = _Counted(source, size, progress)
    number = 0
    try:
        with io.BufferedReader(counted, BLOCK) as buffered:
            read = _decompressed(buffered).readline
            for line in iter(partial(read, MAX_LINE_BYTES + 1), b""):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise ImportRejected(number, f"It is over {MAX_LINE_BYTES:,} bytes long.")
                yield number, line
    except EOFError:
        raise ImportRejected(number + 1, "The gzip data is cut off here.") from None
    except zlib.error as error:
        raise ImportRejected(number + 1, f"The gzip data is damaged: {error}.") from None
    except OSError as error:
        raise ImportRejected(number + 1, f"It can't be read: {error.strerror or error}.") from error


class _Counted(io.RawIOBase):
    """Passes a stream on and tells how far it was read; closing it leaves the stream open."""

    def __init__(self, source: BinaryIO, size: int | None, progress: Progress) -> None:
        super().__init__()
        self._source, self._size, self._progress = source, size, progress
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the buffer's type
        block = self._source.read(len(buffer))
        buffer[: len(block)] = block
        self._done += len(block)
        self._progress("Reading", self._done, self._size)
        return len(block)


def _decompressed(buffered: io.BufferedReader[Any]) -> io.BufferedReader[Any]:
    head = buffered.peek(8)
    if head.startswith(_GZIP):
        packed = iter(partial(buffered.read1, BLOCK), b"")
        return io.BufferedReader(Unpacked(packed), BLOCK)
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            raise ImportRejected(
                1, f"The file is compressed by {name}; give plain or gzip JSON Lines."
            )
    return buffered
