"""What others' libraries warn of, though it is only a client that left."""

from __future__ import annotations

import logging

import pytest

from retrograph import cli_log


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("socket.send() raised exception.", False),
        ("Invalid HTTP request received.", False),
        ("Something else.", True),
    ],
)
def test_a_client_that_left_is_no_news(said: str, shown: bool) -> None:
    record = logging.LogRecord("asyncio", logging.WARNING, "", 0, said, None, None)
    assert cli_log._is_news(record) is shown
