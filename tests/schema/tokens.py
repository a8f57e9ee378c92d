"""Tokens and key sets for tests: made here, by no code of ours but the issuing of one secret."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as new_ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as new_rsa
from jwt import get_algorithm_by_name

from retrograph.resolvers.scope import Role
from retrograph.schema.keys import SecretKey
from retrograph.schema.tokens import Tokens

SECRET = "a secret of the tests, long enough to be taken"
HOUR = 3600
Private = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey


def claims(**more: object) -> dict[str, Any]:
    """What a good token claims; a claim that is None is left out."""
    given = {
        "tenant": 1,
        "fleets": "*",
        "roles": [role.name for role in Role],
        "exp": int(time.time()) + HOUR,
    } | more
    return {name: value for name, value in given.items() if value is not None}


def sign(key: Any = SECRET, algorithm: str = "HS256", kid: str | None = None, **more: Any) -> str:
    """A token, signed by the secret if by nothing else; its claims may be malformed."""
    headers = None if kid is None else {"kid": kid}
    payload = json.dumps(claims(**more)).encode()
    return jwt.api_jws.encode(payload, key, algorithm, headers)


def packed(value: object) -> str:
    """A part of a token: bytes as they are, another value as JSON."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def sealed(head: object, body: object, secret: str | bytes = SECRET) -> str:
    """A token of any head and body, with the signature that HS256 gives it."""
    text, key = (
        f"{packed(head)}.{packed(body)}",
        secret.encode() if isinstance(secret, str) else secret,
    )
    return f"{text}.{packed(hmac.digest(key, text.encode(), 'sha256'))}"


def bearer(token: str | None = None, **more: Any) -> dict[str, str]:
    """The header of a caller with these claims."""
    return {"authorization": f"Bearer {token or sign(**more)}"}


def tokens(**more: Any) -> Tokens:
    """What reads tokens by the secret."""
    return Tokens(SecretKey(SECRET), **more)


def new_key(algorithm: str, *, bits: int = 2048) -> Private:
    """A private key for an algorithm."""
    if algorithm.startswith("ES"):
        return new_ec(SECP256R1())
    if algorithm == "EdDSA":
        return Ed25519PrivateKey.generate()
    return new_rsa(65537, bits)


def public(key: Private, algorithm: str, **more: object) -> dict[str, Any]:
    """The public half of a key as a member of a key set."""
    as_jwk = get_algorithm_by_name(algorithm).to_jwk(key.public_key())
    member: dict[str, Any] = json.loads(as_jwk)
    return {name: value for name, value in member.items() if name != "key_ops"} | more


def key_set(*members: Mapping[str, Any]) -> bytes:
    """The text of a key set."""
    return json.dumps({"keys": members}).encode()
