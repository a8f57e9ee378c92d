"""Text frames of WebSockets, as a server writes them (RFC 6455, 5.2): unmasked and in one piece."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from retrograph.schema.feed import Payloads

_ID, _PAYLOAD, _END = b'{"id":', b',"type":"next","payload":', b"}"
_AROUND = len(_ID) + len(_PAYLOAD) + len(_END)


def text_frame(text: bytes) -> bytes:
    """The frame of a message, which is UTF-8."""
    return _head(len(text)) + text


def next_texts(id: bytes, payloads: Sequence[bytes]) -> list[bytes]:
    """The messages `next` of graphql-transport-ws for the operation whose id this is, as JSON."""
    return [b"".join((_ID, id, _PAYLOAD, each, _END)) for each in payloads]


def next_frames(id: bytes, payloads: Payloads) -> bytes:
    """The frames of these messages; for ids of one length they differ in nothing but the id."""
    size = len(id)
    return id.join(payloads.written(size, lambda texts: _pieces(size, texts)))


def _pieces(id_size: int, payloads: Sequence[bytes]) -> list[bytes]:
    """What stands before, between and behind the ids."""
    pieces, before = [], b""
    for each in payloads:
        pieces.append(before + _head(_AROUND + id_size + len(each)) + _ID)
        before = _PAYLOAD + each + _END
    return [*pieces, before]


def _head(size: int) -> bytes:
    """FIN and the opcode of text, then the length in the shortest of its three forms."""
    if size < 126:
        return struct.pack("!BB", 0x81, size)
    return (
        struct.pack("!BBH", 0x81, 126, size)
        if size < 1 << 16
        else struct.pack("!BBQ", 0x81, 127, size)
    )
