"""A subscription to events without any input or output: what to say, and where to go on.

It speaks graphql-transport-ws. A connection may be lost at any time; the next one goes on behind
the last event that was given out, so that none is missing and none comes twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidStatus

from retrograph.client.address import bearer
from retrograph.client.documents import EVENTS
from retrograph.client.errors import (
    ApiError,
    ClientError,
    Unauthenticated,
    Unavailable,
    Unreachable,
    error_of,
)
from retrograph.client.retry import Retry
from retrograph.client.values import Event

PROTOCOL = "graphql-transport-ws"
_ID = "1"
_FORBIDDEN = 4403
_PROTOCOL_CODES = range(4400, 4500)


class Ended(Exception):
    """The server has ended the subscription, as it does when it stops."""


class Feed:
    """One subscriber; `after` is the cursor of the last event that was given out."""

    def __init__(self, fleet: int, after: str, types: Collection[str] | None, retry: Retry) -> None:
        self.after = after
        self._asked = {"fleet": str(fleet), "types": None if types is None else list(types)}
        self._retry = retry
        self._failures = 0
        self._begun = False

    def hello(self, token: str | None) -> str:
        """What to say first on a new connection; raises `Unauthenticated` as `bearer` does."""
        self._begun = False
        return _message("connection_init", payload=bearer(token))

    def hear(self, text: str | bytes) -> Event | str | None:
        """An event to give out, an answer to send, or nothing.

        Raises `Ended` at the end of the subscription, and a `ClientError` for what was refused.
        """
        message = _read(text)
        match message["type"]:
            case "next":
                return self._event(message["payload"])
            case "connection_ack":
                self._begun, self._failures = True, 0
                variables = self._asked | {"after": self.after}
                return _message(
                    "subscribe", id=_ID, payload={"query": EVENTS, "variables": variables}
                )
            case "ping":
                return _message("pong")
            case "error":
                raise error_of(message["payload"][0])
            case "complete":
                raise Ended
        return None

    def pause(self, error: Exception) -> float:
        """The seconds after which to connect again; raises what that would not mend."""
        refusal = self._refusal(error)
        if refusal is not None:
            raise refusal from error
        self._failures += 1
        if self._failures >= self._retry.attempts:
            if isinstance(error, ClientError):
                raise error
            told = str(error) or type(error).__name__
            raise Unreachable(f"No connection for events: {told}") from error
        return self._retry.pause(self._failures)

    def _event(self, payload: dict[str, Any]) -> Event:
        if payload.get("errors"):
            raise error_of(payload["errors"][0], payload.get("data"))
        event = Event.of(payload["data"]["events"])
        self.after = event.cursor
        return event

    def _refusal(self, error: Exception) -> ClientError | None:
        """The error that stays whatever is tried, None for one that may pass."""
        if isinstance(error, ConnectionClosed) and error.rcvd is not None:
            error = _farewell(error.rcvd.code, error.rcvd.reason) or error
        if isinstance(error, Unauthenticated) and self._begun:
            return None  # the proof has expired, and the next connection takes a new one
        if isinstance(error, ClientError):
            return None if isinstance(error, Unavailable) else error
        if isinstance(error, InvalidStatus):
            status = error.response.status_code
            told = f"The server refuses the WebSocket with status {status}."
            passing = status >= 500 or status in {408, 429}
            return None if passing else Unreachable(told)
        return None


def _farewell(code: int, reason: str) -> ClientError | None:
    """The error of a socket that was closed for a reason of the protocol's."""
    if code == _FORBIDDEN:
        return Unauthenticated(reason, code="UNAUTHENTICATED")
    if code in _PROTOCOL_CODES:
        return ApiError(f"The server closed the WebSocket with {code}: {reason}")
    return None


def _read(text: str | bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Unreachable("Something else than this API answers on the WebSocket.")
    return message


def _message(type: str, **more: Any) -> str:
    return json.dumps({"type": type} | more)
