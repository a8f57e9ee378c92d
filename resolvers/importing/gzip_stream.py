"""Unpacks gzip so that all that does unpack is had before it is said what is wrong."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

BLOCK = 256 * 1024
"""Bytes that are unpacked at a time, at most."""

_GZIP = zlib.MAX_WBITS + 16
"""What tells zlib to expect a gzip header and to check the sum at the end."""


class _Member(Protocol):
    """What zlib keeps of a gzip member that is being unpacked."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...
    def flush(self) -> bytes: ...
    def copy(self) -> _Member: ...


class Unpacked(io.RawIOBase):
    """The unpacked bytes of gzip data, of any number of members, as a stream.

    Reads raise, once all that does unpack was read: `EOFError` where the data is cut off,
    `zlib.error` where it is damaged.
    """

    def __init__(self, packed: Iterator[bytes]) -> None:
        super().__init__()
        self._blocks = _unpack(packed)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the buffer's type
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = block
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)


def _unpack(packed: Iterator[bytes]) -> Iterator[bytes]:
    rest = next(packed, b"")
    while rest:
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            rest = rest or next(packed, b"")
            if not rest:
                yield member.flush()
                raise EOFError
            yield from _inflated(member, rest)
            rest = member.unconsumed_tail
        rest = _behind(member, packed)


def _inflated(member: _Member, data: bytes) -> Iterator[bytes]:
    """A block of what `data` unpacks to; the member keeps what it left of the data."""
    before = member.copy()
    try:
        block = member.decompress(data, BLOCK)
    except zlib.error:
        yield from _up_to_the_fault(before, data)
        raise
    yield block


def _up_to_the_fault(member: _Member, data: bytes) -> Iterator[bytes]:
    """By single bytes, since a call that meets the fault gives nothing of what stands before it."""
    for place in range(len(data)):
        try:
            block = member.decompress(data[place : place + 1])
        except zlib.error:
            return
        yield block


def _behind(member: _Member, packed: Iterator[bytes]) -> bytes:
    """What follows a member: another one, or nothing, with any padding by zeros left out."""
    for block in chain((member.unused_data,), packed):
        rest = block.lstrip(b"\0")
        if rest:
            return rest
    return b""
