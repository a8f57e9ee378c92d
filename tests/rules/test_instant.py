"""An instant read back names the very same version: the round trip is exact."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import EARLIEST, LATEST, format_instant, parse_instant

instants = st.integers(EARLIEST, LATEST)


@given(instants)
@example(EARLIEST)
@example(LATEST)
@example(-1)
@example(0)
def test_round_trip_is_exact(micros: int) -> None:
    assert parse_instant(format_instant(micros)) == micros


@given(instants, instants)
def test_text_sorts_as_instants_do(one: int, other: int) -> None:
    assert (one < other) == (format_instant(one) < format_instant(other))


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.5Z", 500_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2024-02-29T23:59:59.123Z", 1_709_251_199_123_000),
        ("0001-01-01T00:00:00Z", EARLIEST),
        ("9999-12-31T23:59:59.999999Z", LATEST),
    ],
)
def test_parsed(text: str, micros: int) -> None:
    assert parse_instant(text) == micros


def test_six_digits_always() -> None:
    assert format_instant(0) == "1970-01-01T00:00:00.000000Z"
    assert format_instant(EARLIEST) == "0001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2024-05-01T09:30:00+02:00", "offset"),
        ("2024-05-01T09:30:00+00:00", "offset"),
        ("2024-05-01T09:30:00-0000", "offset"),
        ("2024-05-01T09:30:00.1234567Z", "six fractional digits"),
        ("2024-05-01T09:30:00.1234567", "six fractional digits"),
        ("2024-05-01T09:30:00", "no zone"),
        ("2024-05-01T09:30:00.5", "no zone"),
        ("2016-12-31T23:59:60Z", "leap second"),
        ("2023-02-29T00:00:00Z", "no instant"),
        ("2024-13-01T00:00:00Z", "no instant"),
        ("2024-05-01T24:00:00Z", "no instant"),
        ("0000-01-01T00:00:00Z", "no instant"),
        ("10000-01-01T00:00:00Z", "no instant"),
        ("2024-05-01 09:30:00Z", "no instant"),
        ("2024-05-01T09:30:00.Z", "no instant"),
        ("2024-05-01T09:30:00,5Z", "no instant"),
        ("2024-05-01T09:30Z", "no instant"),
        ("2024-05-01", "no instant"),
        (" 2024-05-01T09:30:00Z", "no instant"),
        ("2024-05-01T09:30:00Z\n", "no instant"),
        ("２０２４-05-01T09:30:00Z", "no instant"),
        ("1714555800", "no instant"),
        ("", "no instant"),
        ("\0", "no instant"),
        pytest.param("T" * 1_000_000, "no instant", id="a million letters"),
    ],
)
def test_refused_with_what_to_write(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_instant(text, field=("asOf",))
    assert reason in refused.value.message
    assert "2024-05-01T09:30:00.123456Z" in refused.value.message
    assert len(refused.value.message) < 300
    assert refused.value.path == ("asOf",)


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        micros = parse_instant(text)
    except InvalidInput:
        return
    assert EARLIEST <= micros <= LATEST


@pytest.mark.parametrize("micros", [EARLIEST - 1, LATEST + 1, 10**30, -(10**30)])
def test_no_text_for_instants_out_of_range(micros: int) -> None:
    with pytest.raises(InvalidInput, match="0001 to 9999"):
        format_instant(micros)
