"""How large JSON is stored: as it is, or deflated where that saves space."""

from __future__ import annotations

import zlib
from enum import IntEnum

from retrograph.rules.limits import MAX_PAYLOAD_BYTES

DEFLATED_FROM = 65_536
"""Bytes from which deflating is tried: for less it takes longer than the disk does."""
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
            return Codec.ZLIB, deflated
    return Codec.PLAIN, text


def unpack(codec: int, stored: bytes) -> bytes:
    """The text that was packed; `ValueError` where these bytes are no text's."""
    if codec == Codec.PLAIN:
        return bytes(stored)
    if codec != Codec.ZLIB:
        raise ValueError(f"unknown codec {codec}")
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(stored, MAX_PAYLOAD_BYTES)
    except zlib.error as error:
        raise ValueError("not deflated JSON") from error
    if not inflater.eof or inflater.unused_data:
        raise ValueError("deflated JSON that is cut, goes on, or is too large")
    return text
