"""The tests' own servers: each is private, and gone at the end."""

from __future__ import annotations

import pytest

from tests.servers import MariaDBServer, running_mariadb


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
