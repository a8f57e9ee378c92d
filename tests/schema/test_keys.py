"""Key sets: which keys count, for which algorithm, and how they are renewed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from retrograph.rules.errors import ConfigurationError, Unauthenticated
from retrograph.schema.key_set import MAX_AGE, MAX_BYTES, PAUSE, KeySet, key_set_source
from retrograph.schema.keys import read_key_set
from retrograph.schema.tokens import Tokens
from tests.schema.tokens import claims, key_set, new_key, public, sealed, sign

EC = new_key("ES256")
OTHER = new_key("ES256")


class Published:
    """A key set that somebody publishes, and the seconds that pass."""

    def __init__(self, *members: dict[str, Any]) -> None:
        self.members: list[dict[str, Any]] | None = list(members)
        self.fetches, self.seconds = 0, 0.0
        self.set = KeySet(self._load, lambda: self.seconds)
        self.tokens = Tokens(self.set)

    def _load(self) -> bytes:
        self.fetches += 1
        if self.members is None:
            raise ConfigurationError("gone")
        return key_set(*self.members)

    async def takes(self, token: str) -> bool:
        try:
            await self.tokens(token)
        except Unauthenticated:
            return False
        return True


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "EdDSA"]
)
def test_a_key_verifies_tokens_of_its_own_algorithm(algorithm: str) -> None:
    key = new_key(algorithm)
    published = Published(public(key, algorithm, kid="a", alg=algorithm))
    for kid in ("a", None):
        assert asyncio.run(published.takes(sign(key, algorithm, kid)))
    for token in (sign(new_key(algorithm), algorithm, "a"), sign(key, algorithm, "b")):
        assert not asyncio.run(published.takes(token))


def test_a_key_that_names_no_algorithm_counts_for_that_of_its_kind() -> None:
    key = new_key("RS256")
    published = Published(public(key, "RS256", kid="a"))
    assert asyncio.run(published.takes(sign(key, "RS256", "a")))
    for algorithm in ("RS384", "PS256"):
        assert not asyncio.run(published.takes(sign(key, algorithm, "a")))


def test_a_public_key_is_no_secret() -> None:
    member = public(EC, "ES256", kid="a")
    published = Published(member)
    for secret in (json.dumps(member).encode(), key_set(member), b"x" * 32, member["x"].encode()):
        token = sealed({"alg": "HS256", "kid": "a"}, claims(), secret)
        assert not asyncio.run(published.takes(token))
    unsigned = sign(None, "none", "a")
    assert not asyncio.run(published.takes(unsigned))


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"x", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"keys": 1}', b'{"keys": {}}'),
        key_set(),
        key_set({"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}),
        key_set(public(EC, "ES256", use="enc")),
        key_set(public(EC, "ES256", alg="none"), public(EC, "ES256", alg="HS256")),
        key_set(public(EC, "ES256", alg="RS256"), public(EC, "ES256", alg=["ES256"])),
        key_set(public(EC, "ES256", crv="P-9"), public(EC, "ES256", x=5), {"kty": ["EC"]}),
        key_set(public(new_key("RS256", bits=1024), "RS256")),
        key_set(public(EC, "ES256") | {"d": "AAAA"}),
    ],
)
def test_what_holds_no_key_of_use_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigurationError):
        read_key_set(text)


def test_what_is_of_no_use_is_passed_over() -> None:
    good = public(EC, "ES256", kid=5)
    keys = read_key_set(json.dumps({"keys": [None, {}, {"kty": "oct", "k": "AA"}, good]}).encode())
    assert [(key.algorithm, key.id) for key in keys] == [("ES256", None)]


def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    async def rotate() -> None:
        published = Published(public(EC, "ES256", kid="old"))
        old, new = sign(EC, "ES256", "old"), sign(OTHER, "ES256", "new")
        published.members = [public(OTHER, "ES256", kid="new")]
        assert not await published.takes(new)  # the first fetch was just now
        published.seconds = PAUSE
        assert await asyncio.gather(*(published.takes(each) for each in (new, new))) == [True, True]
        assert published.fetches == 2
        assert not await published.takes(old)

    asyncio.run(rotate())


def test_whatever_tokens_name_it_is_fetched_once_in_a_while() -> None:
    async def annoy() -> None:
        published = Published(public(EC, "ES256", kid="a"))
        for second in range(2 * int(PAUSE) + 1):
            published.seconds = float(second)
            assert not await published.takes(sign(OTHER, "ES256", f"made up {second}"))
        assert published.fetches == 3

    asyncio.run(annoy())


def test_the_last_good_keys_stay_while_there_are_no_others() -> None:
    async def outlast() -> None:
        published = Published(public(EC, "ES256", kid="a"))
        token = sign(EC, "ES256", "a")
        for members in (None, [], [{"kty": "oct"}]):
            published.members = members
            published.seconds += MAX_AGE
            fetches = published.fetches
            assert await published.takes(token)
            assert published.fetches == fetches + 1

    asyncio.run(outlast())


def test_a_key_that_is_taken_out_counts_no_more_when_the_set_is_old() -> None:
    async def revoke() -> None:
        published = Published(public(EC, "ES256", kid="a"))
        published.members = [public(OTHER, "ES256", kid="b")]
        token = sign(EC, "ES256", "a")
        published.seconds = MAX_AGE - 1
        assert await published.takes(token)
        published.seconds = MAX_AGE
        assert not await published.takes(token)

    asyncio.run(revoke())


def test_a_server_that_hangs_delays_only_who_needs_it() -> None:
    async def hang() -> None:
        published, go_on = Published(public(EC, "ES256", kid="a")), threading.Event()
        load = published.set._load

        def stuck() -> bytes:
            assert go_on.wait(30)
            return load()

        published.set._load = stuck
        published.members = [
            public(key, "ES256", kid=kid) for key, kid in ((EC, "a"), (OTHER, "b"))
        ]
        published.seconds = PAUSE
        waiting = asyncio.create_task(published.takes(sign(OTHER, "ES256", "b")))
        await asyncio.sleep(0)
        assert await published.takes(sign(EC, "ES256", "a"))
        assert not waiting.done()
        go_on.set()
        assert await waiting

    asyncio.run(hang())


@contextmanager
def published_at(answers: dict[str, tuple[int, bytes]]) -> Iterator[str]:
    """A server that gives these answers by path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers[self.path]
            self.send_response(status)
            self.send_header("location", "/good")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_set_comes_from_a_url_or_a_file(tmp_path: Path) -> None:
    text = key_set(public(EC, "ES256"))
    answers = {"/good": (200, text), "/gone": (404, text), "/moved": (302, b"")}
    answers["/large"] = (200, b" " * (MAX_BYTES + 1))
    with published_at(answers) as url:
        assert key_set_source(f"{url}/good")() == text
        for path in ("gone", "moved", "large"):
            with pytest.raises(ConfigurationError):
                key_set_source(f"{url}/{path}")()
    for place in (f"{url}/good", tmp_path, tmp_path / "missing"):
        with pytest.raises(ConfigurationError):
            key_set_source(str(place))()
    (tmp_path / "keys.json").write_bytes(text)
    assert key_set_source(str(tmp_path / "keys.json"))() == text
