"""How large JSON is stored: as it is, or deflated where that saves space.

Deflated bytes end in a checksum of their own: some of their bits mean nothing, and a change of
these must be found like any other.
"""

from __future__ import annotations

import zlib
from enum import IntEnum

from retrograph.rules.limits import MAX_PAYLOAD_BYTES

DEFLATED_FROM = 65_536
"""Bytes from which deflating is tried: for less it takes longer than the disk does."""
_CHECKSUM = 4
"""Bytes of the CRC-32 at the end."""
_LEVEL = 1
"""The fastest: JSON shrinks to a fifth, and a higher level costs several times the work."""


class Codec(IntEnum):
    """How the bytes of a payload are stored."""

    PLAIN = 0
    ZLIB = 1


def pack(text: bytes) -> tuple[Codec, bytes]:
    """The codec that stores the text in less space, and the stored bytes."""
    if len(text) >= DEFLATED_FROM:
        deflated = zlib.compress(text, _LEVEL)
        if len(deflated) < len(text) * 3 // 4:
            return Codec.ZLIB, deflated + _checksum(deflated)
    return Codec.PLAIN, text


def unpack(codec: int, stored: bytes) -> bytes:
    """The text that was packed; `ValueError` where these bytes are no text's."""
    if codec == Codec.PLAIN:
        return bytes(stored)
    if codec != Codec.ZLIB:
        raise ValueError(f"unknown codec {codec}")
    deflated, checksum = stored[:-_CHECKSUM], stored[-_CHECKSUM:]
    if _checksum(deflated) != bytes(checksum):
        raise ValueError("deflated JSON whose checksum differs")
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(deflated, MAX_PAYLOAD_BYTES)
    except zlib.error as error:
        raise ValueError("not deflated JSON") from error
    if not inflater.eof or inflater.unused_data:
        raise ValueError("deflated JSON that is cut, goes on, or is too large")
    return text


def _checksum(deflated: bytes) -> bytes:
    return zlib.crc32(deflated).to_bytes(_CHECKSUM, "big")
