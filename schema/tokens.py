"""Bearer tokens: JSON Web Tokens (RFC 7519), verified and, for development, issued."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import jwt
from jwt.exceptions import InvalidAudienceError, InvalidIssuerError, PyJWTError

from retrograph.rules.errors import Unauthenticated
from retrograph.rules.instant import SECOND
from retrograph.schema.claims import EVERY_FLEET, read_claims
from retrograph.schema.identity import Identity
from retrograph.schema.keys import SECRET_ALGORITHM, Key, Keys, check_secret
from retrograph.storage.clock import Clock, system_clock

if TYPE_CHECKING:
    from jwt.types import Options

MAX_LENGTH = 16_384
"""Characters of a token that are looked at."""

MOST_REMEMBERED = 1_000
"""Tokens whose signatures were verified already."""

# Times are checked against the clock that everything here is told the time by.
_OPTIONS: Options = {
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "verify_sub": False,
    "verify_jti": False,
    "enforce_minimum_key_length": True,
}


class _Verified(NamedTuple):
    """A token's algorithm and key id, the key that verified it, and what it claims."""

    header: tuple[str, str | None]
    key: Key
    claims: dict[str, Any]


class Tokens:
    """Tells whom a token stands for.

    With `issuer` a token must name it; `audience` must be among a token's audiences if either gives
    one. `leeway` is how many seconds the issuer's clock may differ by.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        issuer: str | None = None,
        audience: str | None = None,
        leeway: int = 0,
        clock: Clock = system_clock,
    ) -> None:
        self._keys, self._clock = keys, clock
        self._issuer, self._audience = issuer, audience
        self._leeway = leeway * SECOND
        self._verified: dict[str, _Verified] = {}

    async def __call__(self, token: str | None) -> Identity:
        """The identity that a token proves; raises `Unauthenticated`, which says what is wrong."""
        if token is None:
            raise Unauthenticated("Send a token as `Authorization: Bearer`.")
        known = self._verified.get(token)
        algorithm, key_id = _header(token) if known is None else known.header
        for key in await self._keys.find(algorithm, key_id):
            if known is not None and known.key is key:
                return read_claims(known.claims, self._clock(), self._leeway)
            claims = self._claims(token, key)
            if claims is not None:
                self._remember(token, _Verified((algorithm, key_id), key, claims))
                return read_claims(claims, self._clock(), self._leeway)
        raise Unauthenticated("No key of this server verifies the token; get one from its issuer.")

    def _remember(self, token: str, verified: _Verified) -> None:
        """Spares the signature of a token that comes again, as long as its key is kept."""
        if len(self._verified) >= MOST_REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[token] = verified

    def _claims(self, token: str, key: Key) -> dict[str, Any] | None:
        """What a token claims, or None if this key doesn't verify it."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.material,
                algorithms=[key.algorithm],
                options=_OPTIONS,
                issuer=self._issuer,
                audience=self._audience,
            )
        except InvalidIssuerError:
            raise Unauthenticated("The token is of another issuer.") from None
        except InvalidAudienceError:
            raise Unauthenticated("The token is for another audience.") from None
        except jwt.MissingRequiredClaimError as error:
            raise Unauthenticated(f"The token lacks the claim `{error.claim}`.") from None
        except (PyJWTError, ValueError):
            return None
        return claims


def _header(token: str) -> tuple[str, str | None]:
    """The algorithm that a token claims to be signed with, and the id of its key."""
    if len(token) > MAX_LENGTH:
        raise Unauthenticated(f"A token has at most {MAX_LENGTH:,} characters.")
    try:
        header = jwt.get_unverified_header(token)
    except (PyJWTError, ValueError, TypeError):
        raise Unauthenticated("This is no JSON Web Token.") from None
    algorithm, key_id = header.get("alg"), header.get("kid")
    return (algorithm if isinstance(algorithm, str) else ""), key_id


def issue_token(
    secret: str,
    identity: Identity,
    *,
    issuer: str | None = None,
    audience: str | None = None,
) -> str:
    """A token signed with a secret; raises `ConfigurationError` for one that can be guessed.

    The identity must expire; a token tells it in whole seconds.
    """
    assert identity.expires_at is not None  # noqa: S101 (there are no tokens for ever)
    claims: dict[str, object] = {
        "tenant": str(identity.tenant_id),
        "fleets": _fleets(identity.fleet_ids),
        "roles": [role.name for role in sorted(identity.roles)],
        "exp": identity.expires_at // SECOND,
    }
    claims |= {} if issuer is None else {"iss": issuer}
    claims |= {} if audience is None else {"aud": audience}
    return jwt.encode(claims, check_secret(secret), SECRET_ALGORITHM)


def _fleets(fleet_ids: Collection[int] | None) -> str | list[str]:
    return EVERY_FLEET if fleet_ids is None else [str(each) for each in sorted(fleet_ids)]
