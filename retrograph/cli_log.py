"""What a serving process logs: on stderr, one line each, with the request that it is about."""

from __future__ import annotations

import logging
import time

from retrograph.schema.current_request import WithRequestId

_SAID_ALREADY = (
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "Invalid UTF-8 sequence received from client.",
    "Rejected WebSocket connection from origin",
    "socket.send() raised exception.",  # asyncio, once for each event that a lost peer isn't sent
)
"""How what libraries warn of begins; it is the client's fault, and has a line of its own."""


def configure_logging(level: str) -> None:
    """Sets up the log of a process that has none yet; of others' libraries only warnings show."""
    handler = logging.StreamHandler()
    handler.addFilter(WithRequestId())
    handler.setFormatter(_LogLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("retrograph").setLevel(level.upper())
    handler.addFilter(_is_news)


class _LogLine(logging.Formatter):
    """Begins a line with the instant in UTC, the level and the request's id."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s level=%(levelname)s request_id=%(request_id)s %(message)s")
        self.converter = time.gmtime


def _is_news(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(_SAID_ALREADY)
