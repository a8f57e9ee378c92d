"""The keys that verify tokens: each for one algorithm, whatever a token says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jwt import PyJWK, get_algorithm_by_name
from jwt.exceptions import InvalidKeyError, PyJWTError

from retrograph.rules.errors import ConfigurationError

PUBLIC_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""The algorithms of a key set; none of them works with a secret."""
SECRET_ALGORITHM = "HS256"  # noqa: S105 (no secret: its kind)
MIN_SECRET_BYTES = 32
"""As long as the hash: RFC 7518, section 3.2."""
MAX_KEYS = 100
"""Keys of a set that are looked at."""


@dataclass(frozen=True, slots=True)
class Key:
    """What verifies tokens of one algorithm; `id` is the `kid` that they name it by, if any."""

    algorithm: str
    material: Any
    id: str | None = None


class Keys(Protocol):
    """Where keys come from."""

    async def find(self, algorithm: str, key_id: str | None) -> tuple[Key, ...]:
        """The keys that may verify a token of the algorithm, and of that id if it names one."""


class SecretKey:
    """One secret that issuer and server share."""

    def __init__(self, secret: str) -> None:
        material = check_secret(secret)
        self._keys = (Key(SECRET_ALGORITHM, material),)

    async def find(self, algorithm: str, key_id: str | None) -> tuple[Key, ...]:
        """The secret, for its algorithm; there is but one, so its id doesn't matter."""
        return self._keys if algorithm == SECRET_ALGORITHM else ()


def check_secret(secret: str) -> bytes:
    """The bytes of a secret; raises `ConfigurationError` for one that can be guessed."""
    material = secret.encode(errors="surrogateescape")  # as variables of the environment are read
    if len(material) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"The secret for tokens has {len(material)} bytes; give {MIN_SECRET_BYTES} or more, "
            "made at random: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    try:
        prepared: bytes = get_algorithm_by_name(SECRET_ALGORITHM).prepare_key(material)
    except InvalidKeyError:
        raise ConfigurationError(
            "The secret for tokens is a key or a certificate, which others may know; name the set "
            "of public keys with --jwks."
        ) from None
    return prepared


def read_key_set(text: bytes) -> tuple[Key, ...]:
    """The keys of a JSON Web Key Set (RFC 7517) that verify signatures; others are passed over.

    A key without `alg` counts for the one that its kind implies: RS256, EdDSA, or the curve's.
    Raises `ConfigurationError` for what is no key set, or has no such key.
    """
    try:
        listed = json.loads(text)["keys"]
        members = [each for each in listed[:MAX_KEYS] if isinstance(each, dict)]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ConfigurationError(
            'This is no JSON Web Key Set: an object with a list of "keys".'
        ) from None
    keys = tuple(key for key in map(_read_key, members) if key is not None)
    if not keys:
        raise ConfigurationError(
            "The key set has no public key for signatures that is strong enough "
            "(RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519)."
        )
    return keys


def _read_key(member: Mapping[str, Any]) -> Key | None:
    if member.get("use", "sig") != "sig" or "d" in member:
        return None
    try:
        if member.get("alg") not in PUBLIC_ALGORITHMS | {None}:
            return None
        key = PyJWK(dict(member))
        weak = key.Algorithm.check_key_length(key.key)
    except (PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if weak or key.algorithm_name not in PUBLIC_ALGORITHMS:
        return None
    return Key(key.algorithm_name, key.key, _text(member.get("kid")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
