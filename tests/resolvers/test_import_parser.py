"""A bad line of an import file is refused with its number and reason, whatever is wrong with it."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.resolvers.importing.batch import Batch
from retrograph.resolvers.importing.json_text import read_json
from retrograph.resolvers.importing.parser import parse_batch
from retrograph.resolvers.importing.stream import MAX_LINE_BYTES, import_lines
from retrograph.rules.errors import ImportRejected, InvalidInput

NODE = b'{"node":{"key":"a","kind":"RULE"}}\n'


def parse(data: bytes) -> Batch:
    return parse_batch(import_lines(io.BytesIO(data), len(data), lambda *_: None), 1)


def refused(data: bytes) -> ImportRejected:
    with pytest.raises(ImportRejected) as caught:
        parse(data)
    return caught.value


def line(head: str, **fields: Any) -> bytes:
    return json.dumps({head: fields}).encode() + b"\n"


def node(**fields: Any) -> bytes:
    return line("node", **{"key": "a", "kind": "RULE"} | fields)


BAD_LINES = {
    b"nonsense": "no JSON",
    b'{"node":{"key":"a","kind":"RULE"}} {}': "no JSON",
    b'{"node":{"key":"a","kind":"RULE"': "no JSON",
    b'{"node":{"key":"\xff","kind":"RULE"}}': "no UTF-8 text (byte 17)",
    b'\xef\xbb\xbf{"node":{"key":"a","kind":"RULE"}}': "no JSON",
    b'{"node":{"key":"\\ud800","kind":"RULE"}}': "no JSON",
    b'{"node":{"key":"a","kind":"RULE","payload":NaN}}': "no JSON",
    b'{"node":{"key":"a","kind":"RULE","payload":1e400}}': "no JSON",
    b"[" * 3000: "Nested deeper than 200",
    b"1": "one head",
    b"[]": "one head",
    b"{}": "one head",
    b'{"node":{"key":"a"},"edge":{}}': "one head",
    b'{"nodes":{"key":"a"}}': "no head 'nodes'",
    b'{"node":{"key":"a","kind":"RULE"},"node":{"key":"b","kind":"RULE"}}': "'node' twice",
    b'{"node":{"key":"a","kind":"RULE","key":"b"}}': "'key' twice",
    b'{"node":{"key":"a","kind":"RULE","payload":{"x":1, "x" : 2}}}': "'x' twice",
    b'{"node":[]}': "node: Give an object",
    b'{"node":null}': "node: Give an object",
    b'{"node":{"kind":"RULE"}}': "node.key: The field is missing",
    node(colour="red"): "node: There is no field 'colour'; the fields are key, kind,",
    node(id=7): "no field 'id'",
    node(key=7): "node.key: Give a string",
    node(key=""): "node.key",
    node(key="k" * 1001): "node.key: 1,001 characters",
    node(key="a\0b"): "node.key: The text holds a NUL",
    node(key=["a"]): "node.key: Give a string",
    node(kind="rule"): "node.kind: Give one of ASSERTION, RULE",
    node(kind=1): "node.kind",
    node(kind=None): "node.kind",
    node(kind=["RULE"]): "node.kind",
    node(payload={"n": 2**53}): "node.payload",
    node(payload="\0"): "node.payload",
    node(payload="x" * 2**20): "node.payload: More than 1,048,576 bytes",
    node(contractHash=1): "node.contractHash",
    node(contractHash=""): "node.contractHash",
    node(confidence=1.1): "node.confidence",
    node(confidence=-0.1): "node.confidence",
    node(confidence="1"): "node.confidence",
    node(confidence=True): "node.confidence",
    node(pinned=1): "node.pinned: Give true or false",
    node(validity="VALID"): "node.validity",
    node(validity=4): "node.validity",
    node(projected="X"): "node.projected",
    node(pinReason=3): "node.pinReason",
    node(expiresAt="tomorrow"): "node.expiresAt",
    node(expiresAt="2026-01-01T00:00:00+01:00"): "offset",
    node(expiresAt=1): "node.expiresAt",
    node(fleet="x"): "node.fleet",
    node(fleet=1.0): "node.fleet",
    node(fleet=True): "node.fleet",
    node(fleet=2**63): "node.fleet",
    line("edge", source="a", target="b"): "edge.type: The field is missing",
    line("edge", source="a", target="b", type="NEEDS"): "edge.type: Give one of DERIVED_FROM",
    line("edge", source="a", target="a", type="REQUIRES"): "can't depend on itself",
    line("edge", source=1, target="a", type="REQUIRES"): "edge.source",
    line("edge", source="a", target="b", type="REQUIRES", id="1"): "no field 'id'",
    line("evidence", node="a"): "evidence.uri: The field is missing",
    line("evidence", node="a", uri=""): "evidence.uri",
    line("evidence", node="a", uri="u", note="\0"): "evidence.note",
    line("evidence", node="a", uri="u" * 10_001): "evidence.uri: 10,001 characters",
    line("invalidate", key="a"): "invalidate.reason: The field is missing",
    line("invalidate", key="a", reason=""): "invalidate.reason",
    line("invalidate", key="a", reason=" \u3000"): "invalidate.reason: Give a text; it must hold",
    line("supersede", key="a", by={"key": "b"}, reason="\t"): "supersede.reason: Give a text",
    line("edge", source=" ", target="b", type="REQUIRES"): "source: Give a text; it must hold more",
    line("invalidate", key="a", reason="r", effect="REVALIDATED"): "not healthy",
    line("invalidate", key="a", reason="r", effect="BAD"): "invalidate.effect",
    line("supersede", key="a"): "supersede.by: The field is missing",
    line("supersede", key="a", by=None): "supersede.by: Give an object",
    line("supersede", key="a", by={}): "supersede.by.key: The field is missing",
    line("supersede", key="a", by={"key": "a"}): "can't replace itself",
    line("supersede", key="a", by={"key": "b", "fleet": 2}): "one fleet",
    line("supersede", key="a", by={"key": "b", "pinned": True}): "no field 'pinned'",
    line("supersede", key="a", by={"key": "b", "payload": 2**60}): "supersede.by.payload",
    line("supersede", key="a", by={"key": "b", "confidence": 2}): "supersede.by.confidence",
}


@pytest.mark.parametrize("bad", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_refused_with_its_number_and_reason(bad: bytes) -> None:
    error = refused(b"\n" + NODE + bad.rstrip(b"\n") + b"\n" + NODE)
    assert error.line == 3
    assert BAD_LINES[bad] in error.reason
    assert "\n" not in error.message


@pytest.mark.parametrize("depth", [201, 254, 255, 256, 1_000, 1_024, 1_025, 5_000])
@pytest.mark.parametrize(
    ("opens", "closes"), [(b"[", b"]"), (b'{"x":', b"}"), (b' {"x" : ', b" }")]
)
def test_a_line_is_nested_no_deeper_than_a_payload(depth: int, opens: bytes, closes: bytes) -> None:
    nested = opens * depth + b"1" + closes * depth
    error = refused(NODE + b'{"node":{"key":"a","kind":"RULE","payload":' + nested + b"}}")
    assert error.line == 2
    assert "Nested deeper than 200" in error.reason


def test_a_payload_may_be_nested_to_its_limit() -> None:
    payload = b"[" * 200 + b"]" * 200
    assert parse(b'{"node":{"key":"a","kind":"RULE","payload":' + payload + b"}}").nodes == 1


def test_a_line_that_takes_back_its_kind_is_refused() -> None:
    error = refused(NODE + node(kind="ASSERTION"))
    assert (error.line, error.reason) == (2, "node.kind: Line 1 gives another kind.")


def test_lines_end_and_stand_as_they_like() -> None:
    batch = parse(b'\r\n  \n \t{ "node" :\t{"key" : "a", "kind":"RULE"} }  \r\n\n' + NODE[:-1])
    assert (batch.lines, batch.nodes) == (5, 1)


def test_nothing_is_a_file_too() -> None:
    assert parse(b"") == Batch()
    assert parse(gzip.compress(b"")) == Batch()


def test_a_line_may_be_long_but_not_endless() -> None:
    room = MAX_LINE_BYTES - len(NODE)
    assert parse(b" " * room + NODE).nodes == 1
    error = refused(NODE + b" " * (MAX_LINE_BYTES + 1))
    assert (error.line, error.reason) == (2, "It is over 4,194,304 bytes long.")
    refused(gzip.compress(b"x" * 50_000_000))


def test_gzip_is_known_by_content_in_any_number_of_members() -> None:
    data = gzip.compress(NODE) + gzip.compress(node(key="b"))
    assert parse(data).nodes == 2


def noise(lines: int) -> bytes:
    """Lines that hardly pack."""
    return b"".join(node(key=random.Random(i).randbytes(90).hex()) for i in range(lines))


def unpacked_lines(data: bytes) -> int:
    """The whole lines that come out of one gzip member, taken byte by byte."""
    member = zlib.decompressobj(31)
    out = b""
    with suppress(zlib.error):
        for place in range(len(data)):
            out += member.decompress(data[place : place + 1])
    return out.count(b"\n")


def test_gzip_that_is_cut_off_is_refused_at_the_line_that_is_cut() -> None:
    data = gzip.compress(noise(12))
    found = set()
    for end in range(2, len(data)):
        error = refused(data[:end])
        assert error.line == unpacked_lines(data[:end]) + 1
        assert error.reason == "The gzip data is cut off here."
        found.add(error.line)
    assert found == set(range(1, 14))


def test_the_line_that_is_cut_is_found_in_large_files_and_later_members() -> None:
    first, second = noise(4_000), noise(3_000)
    data = gzip.compress(first) + gzip.compress(second)
    assert refused(data[:-1]).line == 7_001
    assert 4_000 < refused(data[: -len(data) // 5]).line < 7_000
    assert refused(gzip.compress(NODE * 300_000)[:-8]).line == 300_001


def test_damaged_gzip_is_refused_behind_the_lines_that_unpack() -> None:
    data = gzip.compress(noise(500))
    for place in range(len(data) // 3, len(data) - 8, 2_003):
        bad = data[:place] + bytes(40) + data[place + 40 :]
        with pytest.raises(ImportRejected, match="damaged") as caught:
            list(import_lines(io.BytesIO(bad), None, lambda *_: None))
        assert caught.value.line == unpacked_lines(bad) + 1 > 100
    for bad in (data[:-8] + bytes(8), data + b"more"):
        error = refused(bad)
        assert "damaged" in error.reason
        assert error.line == 501


def test_zeros_behind_gzip_are_padding() -> None:
    data = gzip.compress(NODE) + bytes(600_000)
    assert parse(data).nodes == 1
    assert parse(data + gzip.compress(NODE)).lines == 2


class Failing(io.RawIOBase):
    """A disk that fails after some bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._data.read(len(buffer))
        if not block:
            raise OSError(errno.EIO, "Input/output error")
        buffer[: len(block)] = block
        return len(block)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_source_that_fails_is_refused_where_it_does(pack: Callable[[bytes], bytes]) -> None:
    source = cast(BinaryIO, Failing(pack(NODE * 3)))
    with pytest.raises(ImportRejected) as caught:
        parse_batch(import_lines(source, None, lambda *_: None), 1)
    assert (caught.value.line, caught.value.reason) == (4, "It can't be read: Input/output error.")


@pytest.mark.parametrize(
    ("data", "name"), [(bz2.compress(NODE), "bzip2"), (lzma.compress(NODE), "xz")]
)
def test_another_compression_is_named(data: bytes, name: str) -> None:
    error = refused(data)
    assert error.line == 1
    assert f"compressed by {name}" in error.reason


def test_what_is_packed_twice_is_refused() -> None:
    assert refused(gzip.compress(gzip.compress(NODE))).line == 1


class Trickle(io.RawIOBase):
    """A pipe that gives a byte at a time."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        byte = self._data.read(1)
        buffer[: len(byte)] = byte
        return len(byte)


def test_a_pipe_that_trickles_is_read_whole() -> None:
    with io.BufferedReader(Trickle(gzip.compress(NODE * 2))) as pipe:
        lines = list(import_lines(pipe, None, lambda *_: None))
    assert [number for number, _ in lines] == [1, 2]


def test_the_source_stays_open() -> None:
    source = io.BytesIO(NODE)
    list(import_lines(source, None, lambda *_: None))
    assert not source.closed


def test_reading_is_told_in_bytes_of_the_source() -> None:
    told: list[tuple[str, int, int | None]] = []
    data = gzip.compress(NODE)
    list(import_lines(io.BytesIO(data), len(data), lambda *told_: told.append(told_)))
    assert told[-1] == ("Reading", len(data), len(data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, st.booleans(), st.sampled_from([None, (",", ":"), (" , ", " : ")]))
def test_json_is_read_as_it_was_written(
    value: object, escaped: bool, separators: tuple[str, str] | None
) -> None:
    text = json.dumps(value, ensure_ascii=escaped, separators=separators)
    assert read_json(text.encode("utf-8", "surrogatepass")) == value


@given(st.text(max_size=5), JSON, JSON, st.sampled_from([(",", ":"), (", ", ": "), (",\t", " :")]))
def test_a_key_given_twice_is_always_found(
    key: str, first: object, second: object, separators: tuple[str, str]
) -> None:
    comma, colon = separators
    pairs = comma.join(f"{json.dumps(key)}{colon}{json.dumps(v)}" for v in (first, second))
    with pytest.raises(InvalidInput, match="twice"):
        read_json(f'[{{"a"{colon}{{{pairs}}}}}]'.encode())
