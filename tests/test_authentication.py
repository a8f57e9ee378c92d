"""Serving with tokens from the command line, and issuing them."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from tests.command import PATIENCE, next_line, process, refused, retrograph
from tests.missing import program
from tests.schema.tokens import bearer, key_set, new_key, public, sign
from tests.shared import ROOT

SECRET = "the secret of a server, which is long enough"
VIEWER = {"query": "{ viewer { tenantId fleetIds roles } }"}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file with a secret."""
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    return file


@contextmanager
def serving(folder: Path, *words: str | Path) -> Iterator[str]:
    """The address of a server that asks for tokens; it must not tell a secret."""
    command = ("serve", "--auth", "token", "--port", "0", "--log-level", "debug", *words)
    with process(*command, cwd=folder) as server:
        found = re.search(r" at (http://\S+/graphql)$", next_line(server).rstrip())
        assert found is not None
        yield found[1]
        server.terminate()
        said = "".join(server.communicate(timeout=PATIENCE))
        assert SECRET not in said
        assert "eyJ" not in said


def ask(url: str, token: str | None) -> httpx.Response:
    headers = {} if token is None else bearer(token)
    return httpx.post(url, json=VIEWER, headers=headers, timeout=PATIENCE)


def token(*words: str | Path) -> str:
    return retrograph("token", *words).stdout.strip()


def claims(*words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = jwt.decode(token(*words), SECRET, ["HS256"], {"verify_aud": False})
    return found


def test_a_server_takes_the_tokens_that_its_secret_signed(tmp_path: Path, secret: Path) -> None:
    given = ("--jwt-secret-file", secret, "--jwt-issuer", "us", "--jwt-audience", "them")
    with serving(tmp_path, "--host", "0.0.0.0", *given) as url:
        local = url.replace("0.0.0.0", "127.0.0.1")
        good = token("--tenant", "7", "--role", "worker", "--role", "AUDITOR", *given)
        assert ask(local, good).json()["data"]["viewer"] == {
            "tenantId": "7",
            "fleetIds": [],
            "roles": ["AUDITOR", "WORKER"],
        }
        for bad in (None, sign(SECRET), sign(iss="us", aud="them"), "x"):
            answer = ask(local, bad)
            assert answer.status_code == 401
            assert answer.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


def test_a_server_takes_the_tokens_of_a_key_set(tmp_path: Path) -> None:
    key, keys = new_key("EdDSA"), tmp_path / "keys.json"
    keys.write_bytes(key_set(public(key, "EdDSA", kid="a")))
    with serving(tmp_path, "--jwks", keys) as url:
        assert ask(url, sign(key, "EdDSA", "a", fleets=[1])).json()["data"]
        assert ask(url, sign(SECRET)).status_code == 401


def test_a_token_says_what_it_was_asked_to(secret: Path) -> None:
    given = ("--jwt-secret-file", secret)
    before = int(time.time())
    found = claims(*given)
    assert (found["tenant"], found["fleets"], found["roles"]) == ("1", "*", ["AUDITOR"])
    assert before + 12 * 3600 <= found["exp"] <= time.time() + 12 * 3600
    assert claims(*given, "--fleet", "2", "--fleet", "-1")["fleets"] == ["-1", "2"]
    short = claims(*given, "--expires", "90s", "--jwt-issuer", "us", "--jwt-audience", "them")
    assert short["exp"] <= time.time() + 90
    assert (short["iss"], short["aud"]) == ("us", "them")


@pytest.mark.parametrize("time", ["", "0s", "5", "1.5h", "-1h", "367d", "1w", "٣h", "9" * 5000])
def test_a_token_lives_for_a_time_that_can_be(secret: Path, time: str) -> None:
    assert "366d" in refused("BAD_USER_INPUT", "token", "--expires", time)


def test_a_token_needs_fleets_roles_and_a_secret(tmp_path: Path, secret: Path) -> None:
    assert "--jwt-secret-file" in refused("CONFIGURATION", "token")
    missing = tmp_path / "missing"
    assert str(missing) in refused("CONFIGURATION", "token", "--jwt-secret-file", missing)
    assert "32" in refused("CONFIGURATION", "token", "--jwt-secret", "short")
    refused("BAD_USER_INPUT", "token", "--fleet", "all", "--jwt-secret-file", secret)
    for both in (("*", "3"), ("3", "*")):
        words = [word for each in both for word in ("--fleet", each)]
        assert "`*`" in refused("BAD_USER_INPUT", "token", *words, "--jwt-secret-file", secret)
    assert retrograph("token", "--role", "owner", "--jwt-secret-file", secret).exit_code == 2


def test_without_good_keys_nothing_is_served(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    serve = ("serve", "--auth", "token", "--port", "0")
    for words in (
        *(("--jwt-secret-file", "empty"), ("--jwt-secret-file", "."), ("--jwks", "empty")),
        *(("--jwks", "missing"), ("--jwks", "https://127.0.0.1:1/keys")),
        ("--jwt-secret", "secret " * 9, "--jwks", "empty"),
    ):
        refused("CONFIGURATION", *serve, *words)
    assert [each.name for each in tmp_path.iterdir()] == ["empty"]


def test_the_demo_keeps_the_secret_that_it_has(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("retrograph-demo.db.secret").write_text(SECRET)
    with process("demo", "--port", "0", cwd=tmp_path) as server:
        said = [next_line(server) for _ in range(6)]
        printed = said[-1].removeprefix("token=").strip()
        assert jwt.decode(printed, SECRET, ["HS256"])["roles"][-1] == "ADMIN"
        Path("retrograph-demo.db.secret").write_text("")
    refused("CONFIGURATION", "demo", "--port", "0")


def test_the_commands_of_the_page_make_tokens_that_its_server_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "identity.md").read_text()
    make, protect, serve, _, issue = re.findall(r"^\$ (.+)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    subprocess.run([program("bash", "bash"), "-euc", f"{make}\n{protect}"], check=True)
    assert Path("secret").stat().st_mode & 0o077 == 0
    assert serve.startswith("retrograph serve --auth token ")
    with serving(tmp_path, *serve.split()[4:]) as url:
        answer = ask(url, token(*issue.split()[2:]))
    assert answer.json()["data"]["viewer"]["roles"] == ["CONTROLLER"]
