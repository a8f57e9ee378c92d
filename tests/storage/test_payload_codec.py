"""What is stored deflated is what was packed, to the last bit, or refused."""

from __future__ import annotations

import zlib

import pytest

from retrograph.rules.limits import MAX_PAYLOAD_BYTES
from retrograph.storage.payload_codec import DEFLATED_FROM, Codec, pack, unpack

LARGE = b'{"text":"' + b"words " * DEFLATED_FROM + b'"}'


@pytest.mark.parametrize("text", [b"null", b"x" * (DEFLATED_FROM - 1), LARGE])
def test_what_is_packed_comes_back(text: bytes) -> None:
    codec, stored = pack(text)
    assert codec == (Codec.PLAIN if len(text) < DEFLATED_FROM else Codec.ZLIB)
    assert unpack(codec, stored) == text


def test_every_change_of_every_byte_is_found() -> None:
    """Also in bits that mean nothing to whoever inflates."""
    codec, stored = pack(LARGE)
    step = max(1, len(stored) // 40)
    for place in {*range(0, len(stored), step), *range(4), *range(len(stored) - 12, len(stored))}:
        for bits in range(1, 256, 7):
            broken = bytearray(stored)
            broken[place] ^= bits
            with pytest.raises(ValueError, match="deflated"):
                unpack(codec, bytes(broken))


@pytest.mark.parametrize("stored", [b"", b"abc", pack(LARGE)[1][:-1], pack(LARGE)[1] + b"x"])
def test_what_was_cut_or_goes_on_is_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="deflated"):
        unpack(Codec.ZLIB, stored)


def test_a_bomb_is_not_inflated() -> None:
    bomb = zlib.compress(b"0" * (MAX_PAYLOAD_BYTES + 1))
    with pytest.raises(ValueError, match="too large"):
        unpack(Codec.ZLIB, bomb + zlib.crc32(bomb).to_bytes(4, "big"))


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown codec"):
        unpack(2, b"null")
