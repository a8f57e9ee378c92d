"""The request that is being answered, known wherever code runs for it: most of all by its id."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_WELL_FORMED = re.compile(r"[A-Za-z0-9_.:+/=@-]{1,128}")


@dataclass(slots=True)
class CurrentRequest:
    """An HTTP request, or a WebSocket for as long as it is open.

    `operation` is the name of the operation that ran last; None where there is none.
    """

    id: str
    operation: str | None = None


_current: ContextVar[CurrentRequest | None] = ContextVar("retrograph_request", default=None)


def request_id() -> str | None:
    """The id of the current request, which its log lines and its answer carry."""
    request = _current.get()
    return request.id if request else None


def note_operation(name: str | None) -> None:
    """Tells the current request, if there is one, which operation runs."""
    request = _current.get()
    if request is not None:
        request.operation = name


@contextmanager
def begun_request(given_ids: Sequence[str]) -> Iterator[CurrentRequest]:
    """Makes a request the current one; its id is the one given, if that is one and well-formed."""
    kept = len(given_ids) == 1 and _WELL_FORMED.fullmatch(given_ids[0])
    request = CurrentRequest(given_ids[0] if kept else secrets.token_hex(16))
    token = _current.set(request)
    try:
        yield request
    finally:
        _current.reset(token)


class WithRequestId(logging.Filter):
    """Gives every record of a handler a `request_id`, `-` where there is no request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass."""
        record.request_id = request_id() or "-"
        return True
