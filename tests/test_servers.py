"""The tests' own servers: where one can't be started, the tests say why."""

from __future__ import annotations

import pytest

from tests.servers import MariaDBServer, _program, running_mariadb


def test_a_missing_program_skips_on_a_user_s_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="no-such-daemon is missing"):
        _program("no-such-daemon")


def test_a_missing_program_fails_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="apt install mariadb-server"):
        _program("no-such-daemon")


def test_each_database_is_new_and_empty(mariadb_server: MariaDBServer) -> None:
    names = [mariadb_server.fresh_database() for _ in range(3)]

    assert len(set(names)) == 3
    for name in names:
        connection = mariadb_server.connect(name)
        assert connection.execute("SHOW TABLES").fetchall() == []
        assert connection.execute("SELECT @@collation_database").fetchval() == "utf8mb4_nopad_bin"
        connection.close()


def test_a_server_leaves_nothing_behind() -> None:
    with running_mariadb(durable=True) as server:
        connection = server.connect("mysql")
        flushed = connection.execute("SELECT @@innodb_flush_log_at_trx_commit").fetchval()
        connection.close()

    assert flushed == 1
    assert server.process.returncode == 0
    assert not server.folder.exists()


def test_a_server_that_refuses_its_options_says_so() -> None:
    with (
        pytest.raises(pytest.fail.Exception, match="no-such-option"),
        running_mariadb("--no-such-option"),
    ):
        raise AssertionError("it must not start")
