"""One operation over HTTP without any input or output: a generator says what to do next.

It gives a `Post` and wants its `Reply`, or a `Wait` and wants nothing; it returns the data. So the
blocking client and the asynchronous one share everything but the waiting.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from retrograph.client.errors import ClientError, Unavailable, Unreachable, error_of
from retrograph.client.operation import Operation
from retrograph.client.retry import Retry

T = TypeVar("T")

HEADERS = {
    "content-type": "application/json",
    "accept": "application/graphql-response+json, application/json;q=0.9",
}
_BUSY = frozenset({429, 502, 503, 504})
_REFUSED_UNSEEN = frozenset({429})
"""What is told before anything is done."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request to send."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds to let pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing came back; `sent` tells whether the server may have had the request."""

    reason: str
    sent: bool


Steps = Generator[Post | Wait, "Reply | Lost | None", T]


def exchange(operation: Operation[T], retry: Retry) -> Steps[T]:
    """Asks until there is an answer, or until trying again makes no sense or isn't safe."""
    asked = {"query": operation.document, "variables": operation.variables}
    body = json.dumps(asked, allow_nan=False).encode()
    failures = 0
    while True:
        reply = yield Post(body)
        assert reply is not None  # noqa: S101 (a post has a reply)
        try:
            return operation.read(_data(reply))
        except ClientError as error:
            failures += 1
            hopeful = isinstance(error, Unavailable) or _may_pass(reply)
            safe = operation.repeatable or _is_undone(reply)
            if not (hopeful and safe) or failures >= retry.attempts:
                raise
        yield Wait(max(retry.pause(failures), min(_asked_to_wait(reply), retry.most)))


def _data(reply: Reply | Lost) -> dict[str, Any]:
    if isinstance(reply, Lost):
        raise Unreachable(reply.reason)
    try:
        answer = json.loads(reply.body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or not (answer.get("errors") or answer.get("data")):
        raise Unreachable(f"Status {reply.status}, and no answer of GraphQL.")
    data: dict[str, Any] | None = answer.get("data")
    if answer.get("errors"):
        raise error_of(answer["errors"][0], data)
    assert data is not None  # noqa: S101 (there is one of the two)
    return data


def _may_pass(reply: Reply | Lost) -> bool:
    return isinstance(reply, Lost) or reply.status in _BUSY


def _is_undone(reply: Reply | Lost) -> bool:
    return not reply.sent if isinstance(reply, Lost) else reply.status in _REFUSED_UNSEEN


def _asked_to_wait(reply: Reply | Lost) -> float:
    """The seconds of `Retry-After`; 0 without."""
    said = "" if isinstance(reply, Lost) else reply.headers.get("retry-after", "")
    return float(said) if said.isascii() and said.isdigit() and len(said) < 8 else 0.0
