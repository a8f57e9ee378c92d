"""A URL that can't be asked is refused before anybody asks it."""

from __future__ import annotations

import pytest

from retrograph.rules.url import split_url


@pytest.mark.parametrize(
    ("url", "must"),
    [
        ("http://127.0.0.1:99999/", "must have a port from 1 to 65535"),
        ("http://127.0.0.1:abc/", "must have a port"),
        ("http://127.0.0.1:0/", "must have a port"),
        ("http://127.0.0.1:9191/é", "must be written in ASCII"),
        ("http://127.0.0.1:9191/a b", "must be written in ASCII"),
        ("http://127.0.0.1:9191/a\nb", "must be written in ASCII"),
        ("http://bücher.example/", "must be written in ASCII"),
        ("", "must be written in ASCII"),
        ("http://[", "is no URL"),
        ("http://:80/", "must begin with http:// or https:// and name a host"),
        ("ftp://localhost/", "must begin with"),
        ("localhost", "must begin with"),
    ],
)
def test_what_cannot_be_asked_is_refused(url: str, must: str) -> None:
    with pytest.raises(ValueError, match=must):
        split_url(url)


def test_the_parts_of_one_that_can() -> None:
    parts = split_url("https://[::1]:8443/a%20b?c=d")
    assert (parts.hostname, parts.port, parts.path, parts.query) == ("::1", 8443, "/a%20b", "c=d")
    assert split_url("http://localhost").port is None
