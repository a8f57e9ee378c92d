"""A token proves what it claims, or is refused with a word on what is wrong."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograph.resolvers.scope import Role
from retrograph.rules.errors import ConfigurationError, Unauthenticated
from retrograph.rules.instant import LATEST, SECOND
from retrograph.schema.identity import Identity
from retrograph.schema.keys import SecretKey
from retrograph.schema.tokens import MAX_LENGTH, Tokens, issue_token
from tests.schema.tokens import HOUR, SECRET, claims, packed, sealed, sign, tokens


def read(token: str | None, reader: Tokens | None = None) -> Identity:
    return asyncio.run((reader or tokens())(token))


def refusal(token: str | None, reader: Tokens | None = None) -> str:
    with pytest.raises(Unauthenticated) as refused:
        read(token, reader)
    return refused.value.message


def test_a_token_proves_its_tenant_fleets_and_roles() -> None:
    until = int(time.time()) + HOUR
    token = sign(tenant=str(2**63 - 1), fleets=[1, "-2"], roles=["WORKER"], exp=until)
    wanted = Identity(2**63 - 1, frozenset({1, -2}), frozenset({Role.WORKER}), until * SECOND)
    assert read(token) == wanted
    assert read(sign(fleets="*")).fleet_ids is None
    assert read(sign(fleets=[], roles=[])).roles == frozenset()


MALFORMED: dict[str, list[Any]] = {
    "tenant": [None, True, 1.0, "01", "", [1], 2**63, {}],
    "fleets": [None, 1, "1", "all", [True], ["*"], [1, None], {}],
    "roles": [None, "ADMIN", ["admin"], ["OWNER"], [1], {"ADMIN": 1}],
    "exp": [None, "9999999999", True, [], 1e300, 10**400, -(10**400), math.nan, math.inf],
    "nbf": ["x", math.nan, []],
}


@pytest.mark.parametrize(
    ("claim", "value"),
    [(claim, value) for claim, values in MALFORMED.items() for value in values],
)
def test_a_claim_that_is_missing_or_malformed_is_named(claim: str, value: object) -> None:
    given: dict[str, Any] = {claim: value}
    assert f"`{claim}`" in refusal(sign(**given))


def test_a_token_counts_from_its_beginning_to_its_end() -> None:
    token, now = sign(nbf=1000, exp=2000.5), [0]
    reader = tokens(clock=lambda: now[0], leeway=10)
    for at, word in ((989_999_999, "yet"), (2_010_500_000, "expired")):
        now[0] = at
        assert word in refusal(token, reader)
    for at in (990_000_000, 2_010_499_999):
        now[0] = at
        assert read(token, reader).expires_at == 2_010_500_000


def test_tokens_that_come_again_are_verified_once_and_forgotten_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verified: list[str] = []
    decode = jwt.decode

    def counted(token: str, *args: Any, **more: Any) -> Any:
        verified.append(token)
        return decode(token, *args, **more)

    monkeypatch.setattr("retrograph.schema.tokens.jwt.decode", counted)
    monkeypatch.setattr("retrograph.schema.tokens.MOST_REMEMBERED", 2)
    reader = tokens()
    a, b, c = (sign(tenant=tenant) for tenant in (1, 2, 3))
    assert [read(each, reader).tenant_id for each in (a, a, b, a, c, a)] == [1, 1, 2, 1, 3, 1]
    assert verified == [a, b, c, a]


def test_a_token_may_count_until_the_last_instant() -> None:
    token = sign(exp=LATEST // SECOND)
    assert read(token, tokens(leeway=300)).expires_at == LATEST


@pytest.mark.parametrize(
    ("expected", "claimed", "word"),
    [
        ({"issuer": "us"}, {"iss": "them"}, "issuer"),
        ({"issuer": "us"}, {"iss": ["us"]}, "issuer"),
        ({"issuer": "us"}, {}, "`iss`"),
        ({"audience": "us"}, {"aud": "them"}, "audience"),
        ({"audience": "us"}, {"aud": {"us": 1}}, "audience"),
        ({"audience": "us"}, {}, "`aud`"),
        ({}, {"aud": "us"}, "audience"),
    ],
)
def test_issuer_and_audience_must_be_ours(
    expected: dict[str, str], claimed: dict[str, Any], word: str
) -> None:
    assert word in refusal(sign(**claimed), tokens(**expected))
    assert (
        read(sign(iss="us", aud=["them", "us"]), tokens(issuer="us", audience="us")).tenant_id == 1
    )


def test_what_is_signed_by_others_or_by_nobody_is_refused() -> None:
    head, body, signature = sign().split(".")
    other = sign("another secret, long enough to be taken")
    richer = packed(claims(tenant=2))
    unsigned, longer = sign(None, "none"), sign(SECRET + SECRET, "HS384")
    for token in (
        *(other, unsigned, longer, f"{head}.{richer}.{signature}", f"{head}.{body}."),
        *(f"{packed({'alg': alg})}.{body}.{signature}" for alg in ("none", "HS384", "RS256")),
        sealed({"alg": "HS256", "crit": ["x"], "x": 1}, claims()),
        sealed({"alg": "HS256", "b64": False, "crit": ["b64"]}, b""),
    ):
        message = refusal(token)
        assert "verifies" in message or "no JSON Web Token" in message
        assert SECRET not in message


@pytest.mark.parametrize(
    "token",
    [
        *("x", "..", "a.b.c", "ü.ü.ü", "\udc80", "e30.e30.e30"),
        f"{packed(b'[' * 5000)}.e30.e30",
        f"{packed({'alg': ['HS256']})}.e30.e30",
        f"{packed({'alg': 'HS256', 'kid': 5})}.e30.e30",
        f"{packed([])}.e30.e30",
        f"{packed(b'9' * 5000)}.e30.e30",
    ],
)
def test_what_is_no_token_is_refused(token: str) -> None:
    assert refusal(token)


def test_a_payload_that_is_no_object_is_refused() -> None:
    for payload in (b"[]", b"[" * 5000, b"\xff", b'{"exp": ' + b"9" * 5000 + b"}"):
        assert refusal(sealed({"alg": "HS256"}, payload))


def test_what_is_missing_or_too_long_is_told() -> None:
    assert "Bearer" in refusal(None)
    assert f"{MAX_LENGTH:,}" in refusal("a." * MAX_LENGTH)


@given(st.text(max_size=300) | st.binary(max_size=300).map(packed))
def test_any_text_is_refused(text: str) -> None:
    head, body, signature = sign().split(".")
    for token in (
        text,
        f"{text}.{body}.{signature}",
        f"{head}.{text}.{signature}",
        f"{head}.{text}",
    ):
        assert refusal(token)


def test_an_issued_token_is_taken() -> None:
    until = (int(time.time()) + HOUR) * SECOND
    for fleets in (None, frozenset({3, -7})):
        identity = Identity(-(2**63), fleets, frozenset({Role.AUDITOR, Role.ADMIN}), until + 1)
        token = issue_token(SECRET, identity, issuer="us", audience="them")
        found = read(token, tokens(issuer="us", audience="them"))
        assert found == Identity(-(2**63), fleets, identity.roles, until)


PEM = f"-----BEGIN PUBLIC KEY-----\n{'A' * 64}\n-----END PUBLIC KEY-----"


@pytest.mark.parametrize("secret", ["", "short", "ü" * 15 + "x", PEM])
def test_a_secret_that_may_be_guessed_is_refused_and_not_told(secret: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        SecretKey(secret)
    assert not secret or secret not in refused.value.message
    with pytest.raises(ConfigurationError):
        issue_token(secret, Identity(1, None, frozenset(), 0))
