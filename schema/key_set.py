"""A published key set: kept, and fetched anew when it is old or a token names an unknown key."""

from __future__ import annotations

import asyncio
import logging
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from retrograph.rules.errors import ConfigurationError
from retrograph.schema.keys import Key, read_key_set

MAX_AGE = 300.0
"""Seconds after which a set is fetched anew, so that a key that was taken out counts no more."""
PAUSE = 30.0
"""Seconds between two fetches, whatever tokens name."""
TIMEOUT = 5.0
"""Seconds that the server of a key set may be silent."""
MAX_BYTES = 1_048_576
"""The size of a key set."""

_log = logging.getLogger(__name__)


class KeySet:
    """The keys of one set. The last good ones stay while no others can be fetched.

    `load` gives the set's text, and raises `ConfigurationError`; it may block. `now` counts
    seconds.
    """

    def __init__(
        self, load: Callable[[], bytes], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._load, self._now = load, now
        self._keys = read_key_set(load())
        self._loaded = self._tried = now()
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, algorithm: str, key_id: str | None) -> tuple[Key, ...]:
        """The keys for an algorithm and an id.

        Who names an unknown key waits for the set to be fetched, if that is due; so does the first
        who comes after a long while. Nobody else does.
        """
        found, now = self._fitting(algorithm, key_id), self._now()
        pause, is_old = now - self._tried, now - self._loaded >= MAX_AGE
        if pause >= PAUSE and (is_old or not found):
            self._tried = now
            self._fetching = asyncio.create_task(self._fetch())
        if self._fetching is not None and (not found or pause >= MAX_AGE):
            await asyncio.shield(self._fetching)
            found = self._fitting(algorithm, key_id)
        return found

    def _fitting(self, algorithm: str, key_id: str | None) -> tuple[Key, ...]:
        return tuple(
            key
            for key in self._keys
            if key.algorithm == algorithm and (key_id is None or key.id == key_id)
        )

    async def _fetch(self) -> None:
        try:
            self._keys = read_key_set(await asyncio.to_thread(self._load))
            self._loaded = self._now()
        except ConfigurationError as error:
            _log.warning("the key set stays as it was: %s", error.message)
        finally:
            self._fetching = None


def key_set_source(place: str) -> Callable[[], bytes]:
    """What loads the key set of a file or URL; it raises `ConfigurationError`."""
    return partial(_fetch_url, place) if "://" in place else partial(_read_file, Path(place))


def _read_file(file: Path) -> bytes:
    try:
        with file.open("rb") as source:
            return _limited(source)
    except OSError as error:
        raise ConfigurationError(f"The key set {file} can't be read: {error.strerror}.") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows none: what it leads to was not chosen by whoever set the URL."""


def _fetch_url(url: str) -> bytes:
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(url, timeout=TIMEOUT) as source:
            return _limited(source)
    except (OSError, HTTPException, ValueError) as error:
        raise ConfigurationError(
            f"The key set can't be fetched ({type(error).__name__}); check its URL and server."
        ) from error


def _limited(source: IO[bytes]) -> bytes:
    text = source.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise ConfigurationError(f"A key set has at most {MAX_BYTES:,} bytes.")
    return text
