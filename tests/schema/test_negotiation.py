"""What a client accepts decides what it gets: by weights, and by the more exact name."""

from __future__ import annotations

import pytest

from retrograph.schema.negotiation import negotiate, takes_gzip

SPEC = "application/graphql-response+json"
JSON = "application/json"


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        ("", JSON),
        (" ", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (JSON.upper(), JSON),
        (f"{JSON}; charset=utf-8", JSON),
        (SPEC, SPEC),
        (f"{JSON}, {SPEC}", SPEC),
        (f"{SPEC}, {JSON}", SPEC),
        (f"{SPEC};q=0.5, {JSON}", JSON),
        (f"{SPEC};q=0.5, {JSON};q=0.499", SPEC),
        (f"{SPEC} ; charset=utf-8 ; Q=0.1, */*;q=.05", SPEC),
        (f"{JSON};q=0, */*", SPEC),
        (f"{JSON};q=0.5, */*", SPEC),
        (f"{SPEC};q=0, */*", JSON),
        (f"{SPEC};q=0.1, application/*;q=0.2", JSON),
        (f"{JSON}, */*", JSON),
        ("text/html, application/xhtml+xml, */*;q=0.8", JSON),
        (f"{JSON};q=0.2, {JSON};q=0.9, {SPEC};q=0.5", JSON),
        (f",, {JSON} ,", JSON),
        ("text/html", None),
        ("text/*", "text/event-stream"),
        (f"{JSON};q=0", None),
        (f"{JSON};q=0.000, {SPEC};q=0", None),
        ("*/*;q=0", None),
        *((f"{JSON};q={odd}", None) for odd in ("x", "", "nan", "inf", "2", "-1", "1e0", ".12345")),
        (f"{JSON};q=x, {SPEC};q=0.1", SPEC),
        ("nonsense", None),
        (";q=1", None),
    ],
)  # fmt: skip
def test_a_media_type_is_chosen(accept: str, given: str | None) -> None:
    assert negotiate(accept) == given


@pytest.mark.parametrize(
    ("accepted", "taken"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("x-gzip", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("identity, *;q=0", False),
        ("notgzip", False),
    ],
)
def test_gzip_is_given_to_who_takes_it(accepted: str, taken: bool) -> None:
    assert takes_gzip(accepted) is taken
