"""What verifies callers, and what signs tokens for development, by the settings."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe

from retrograph.rules.errors import ConfigurationError
from retrograph.schema.identity import Identify, Identity
from retrograph.schema.key_set import KeySet, key_set_source
from retrograph.schema.keys import SecretKey
from retrograph.schema.tokens import Tokens, issue_token
from retrograph.settings import Settings

MAX_SECRET_BYTES = 65_536
"""More of a file can't be meant for a secret."""
LEAST_SECRET_BYTES = 32
"""Less is too weak for HMAC-SHA-256."""


def make_identify(settings: Settings) -> Identify | None:
    """What tells whom a token stands for; None where nobody is asked for one.

    A key set is loaded now. Raises `ConfigurationError` for keys that are missing or weak.
    """
    if settings.auth == "none":
        return None
    keys = KeySet(key_set_source(settings.jwks)) if settings.jwks else SecretKey(_secret(settings))
    return Tokens(
        keys,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        leeway=settings.jwt_leeway,
    )


def make_token(settings: Settings, identity: Identity) -> str:
    """A token that a server with these settings takes; raises `ConfigurationError`."""
    return issue_token(
        _secret(settings), identity, issuer=settings.jwt_issuer, audience=settings.jwt_audience
    )


def with_own_secret(settings: Settings, file: Path | None) -> Settings:
    """The settings, with a secret that nobody had to give, if they ask for tokens and lack one.

    It stays in `file`, so that tokens outlive the process; None: it lives as long as the process.
    """
    if settings.auth != "token" or settings.jwt_secret or settings.jwt_secret_file:
        return settings
    if file is None:
        return replace(settings, jwt_secret=token_urlsafe(), jwks=None)
    return replace(settings, jwt_secret_file=str(file), jwks=None)


def make_secret(settings: Settings) -> None:
    """Makes the file of the secret, which only its owner can read, if it is named and missing.

    Raises `ConfigurationError`.
    """
    if settings.jwt_secret_file is None:
        return
    try:
        with (
            suppress(FileExistsError),
            open(settings.jwt_secret_file, "x", opener=_private) as file,
        ):
            file.write(token_urlsafe() + "\n")
    except OSError as error:
        raise ConfigurationError(
            f"The secret {settings.jwt_secret_file} can't be made: {error.strerror}."
        ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def webhook_secret(settings: Settings) -> bytes:
    """What signs what a webhook is sent; raises `ConfigurationError` if it is missing or weak."""
    secret = _read(settings.webhook_secret, settings.webhook_secret_file, "--webhook-secret-file")
    found = secret.encode("utf-8", "surrogateescape")
    if len(found) < LEAST_SECRET_BYTES:
        raise ConfigurationError(
            f"The webhook's secret has less than {LEAST_SECRET_BYTES} bytes; make one of random "
            "bytes, with `openssl rand -hex 32` for instance."
        )
    return found


def _secret(settings: Settings) -> str:
    return _read(settings.jwt_secret, settings.jwt_secret_file, "--jwt-secret-file")


def _read(given: str | None, named: str | None, flag: str) -> str:
    if given is not None:
        return given
    if named is None:
        raise ConfigurationError(f"Name the secret to sign with by {flag}.")
    file = Path(named)
    try:
        with file.open("rb") as source:
            return source.read(MAX_SECRET_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError as error:
        raise ConfigurationError(f"The secret {file} can't be read: {error.strerror}.") from error
