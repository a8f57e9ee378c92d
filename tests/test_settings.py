"""Flags before variables before defaults; what can't be is refused, and says where it came from."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from retrograph.rules.errors import ConfigurationError
from retrograph.settings import Settings, check_exposure, flag_of, load_settings


def test_the_defaults_are_those_of_one_machine() -> None:
    defaults = Settings("retrograph.db", "127.0.0.1", 8000, 1, 1, "none")
    assert load_settings({}, {}) == defaults
    assert (defaults.jwt_secret, defaults.jwks, defaults.jwt_leeway) == (None, None, 30)


def test_a_flag_goes_before_a_variable_and_a_variable_before_a_default() -> None:
    environment = {"RETROGRAPH_PORT": "9000", "RETROGRAPH_TENANT": "7", "PORT": "1"}
    settings = load_settings({"port": "9001", "host": None}, environment)
    assert (settings.port, settings.tenant, settings.host) == (9001, 7, "127.0.0.1")


def test_a_command_may_have_defaults_of_its_own() -> None:
    defaults = replace(Settings(), database="demo.db")
    assert load_settings({}, {}, defaults=defaults).database == "demo.db"
    assert load_settings({}, {"RETROGRAPH_DATABASE": "x"}, defaults=defaults).database == "x"


def test_origins_are_a_list() -> None:
    given = {"cors_origins": "https://app.example, http://[::1]:3000"}
    assert load_settings(given, {}).cors_origins == ("https://app.example", "http://[::1]:3000")
    assert load_settings({"cors_origins": "*"}, {}).cors_origins == ("*",)


def test_without_authentication_not_every_page_may_ask() -> None:
    with pytest.raises(ConfigurationError, match="name the origins"):
        check_exposure(replace(Settings(), cors_origins=("*",)))
    check_exposure(replace(Settings(), cors_origins=("http://localhost:3000",)))


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("port", value) for value in ("", "x", "-1", "65536", "80.0", "٣", "9" * 5000)),
        *(("tenant", value) for value in ("", "one", "+1", "01", "1.0", str(2**63))),
        *(("fleet", value) for value in ("x", " 1")),
        *(("auth", value) for value in ("", "jwt", "Token")),
        *(("jwks", value) for value in ("", "http://example.com/keys", "ftp://localhost/keys")),
        *(("jwks", value) for value in ("https://", "https://[", "file://localhost/keys")),
        *(
            (name, f"http://127.0.0.1{rest}")
            for name in ("webhook", "jwks")
            for rest in (":99999/", ":abc/", ":9191/é", ":9191/a b")
        ),
        *(("jwt_leeway", value) for value in ("", "-1", "301", "1.5", "x")),
        *((name, " ") for name in ("jwt_secret", "jwt_secret_file", "jwt_issuer", "jwt_audience")),
        *(("graphiql", value) for value in ("", "true", "ON")),
        *(("introspection", value) for value in ("", "no", "Off")),
        *(("max_cost", value) for value in ("", "0", "-1", "1e3", "1000000001")),
        *(("checkpoint_bytes", value) for value in ("", "0", "-1", "1e3", "1048577")),
        *(("keep_checkpoints", value) for value in ("", "-1", "1.5", "1000001")),
        *(("keep_checkpoints_days", value) for value in ("", "-1", "36501")),
        *(("operation_timeout", value) for value in ("", "0", "0.5", "3601")),
        ("persisted_documents", " "),
        *(("keep_alive", value) for value in ("0", "-1", "1.5", "3601", "x")),
        *(("socket_operations", value) for value in ("", "0", "-1", "10001", "many")),
        *(("redis", value) for value in ("", "localhost:6379", "http://localhost", "redis://")),
        ("database", ""),
        ("host", " "),
        ("database", "a\0b"),
        *(("cors_origins", value) for value in ("", "a.example", "https://a/", "https://A", ",*")),
        *(("receive_timeout", value) for value in ("", "0", "1.5", "-1", "3601")),
        *(("log_level", value) for value in ("", "INFO", "trace")),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=flag_of(name)):
        load_settings({name: value}, {})
    with pytest.raises(ConfigurationError, match=f"RETROGRAPH_{name.upper()}"):
        load_settings({}, {f"RETROGRAPH_{name.upper()}": value})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"])
def test_the_loopback_needs_no_authentication(host: str) -> None:
    check_exposure(replace(Settings(), host=host))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.1", "localhost.example.com", "example.com", "127.1", ""]
)
def test_without_authentication_nothing_else_is_served(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--host 127"):
        check_exposure(replace(Settings(), host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "example.com"])
@pytest.mark.parametrize("key", ["jwt_secret", "jwt_secret_file", "jwks"])
def test_with_tokens_anything_may_be_served(host: str, key: str) -> None:
    check_exposure(load_settings({"auth": "token", "host": host, key: "x"}, {}))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"auth": "token"}, "one of --jwt-secret, --jwt-secret-file, --jwks"),
        ({"auth": "token", "jwks": "keys.json", "jwt_secret": "x"}, "one of"),
        ({"jwks": "keys.json"}, "--jwks is given, .* add --auth token"),
    ],
)
def test_half_of_an_authentication_is_refused(given: dict[str, str], word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        check_exposure(load_settings(given, {}))


def test_a_key_set_on_this_machine_needs_no_tls() -> None:
    for place in ("http://localhost:1/keys", "http://[::1]/keys", "https://example.com/k?v=1"):
        assert load_settings({"jwks": place}, {}).jwks == place


def test_a_secret_is_not_told() -> None:
    assert "hidden" not in repr(load_settings({"jwt_secret": "hidden"}, {}))


@pytest.mark.parametrize(
    ("database", "told"),
    [
        ("retrograph.db", "retrograph.db"),
        ("a:b@c.db", "a:b@c.db"),
        ("sqlite:////var/x:y@z.db", "sqlite:////var/x:y@z.db"),
        ("mariadb+pyodbc://me@host:3306/name", "mariadb+pyodbc://me@host:3306/name"),
        ("mariadb+pyodbc://host:3306/name", "mariadb+pyodbc://host:3306/name"),
        ("mariadb+pyodbc://me:se:cr%40t@host:1/n", "mariadb+pyodbc://me:***@host:1/n"),
        ("mariadb+pyodbc://me:a@b/c@host/n", "mariadb+pyodbc://me:***@host/n"),
        ("mariadb+pyodbc://me@h/n?a=b&PWD=x&c=d", "mariadb+pyodbc://me@h/n?a=b&PWD=***&c=d"),
    ],
)
def test_a_database_is_told_of_without_its_password(database: str, told: str) -> None:
    assert load_settings({"database": database}, {}).told_database == told
