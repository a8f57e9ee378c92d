"""Database servers that the tests start for themselves: private, and gone at the end."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.missing import driver_manager, missing, program
from tests.scratch import SCRATCH

if TYPE_CHECKING:
    import pyodbc

DRIVER = "MariaDB Unicode"
"""The ODBC driver's name, as Debian's odbc-mariadb registers it."""

PACKAGE = "mariadb-server"
"""What brings the server's programs on Debian."""

UNSAFE = (
    "--innodb-flush-log-at-trx-commit=0",
    "--skip-innodb-doublewrite",
    "--innodb-file-per-table=0",  # a database has dozens of tables, and most tests make one
)
"""Options of a server whose data need not survive the machine."""

SECONDS_TO_START = 60
SECONDS_TO_STOP = 30


@dataclass
class MariaDBServer:
    """A running server that listens on 127.0.0.1 only; its user root has no password."""

    port: int
    folder: Path
    command: list[str]
    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def fresh_name(self) -> str:
        """Return a name that no database of this server has had."""
        return f"exam_{next(self._numbers)}"

    def fresh_database(self) -> str:
        """Create an empty database and return its name. Text is compared byte by byte."""
        name = self.fresh_name()
        connection = self.connect("mysql")
        connection.execute(
            f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
        )
        connection.close()
        return name

    def url(self, database: str) -> str:
        """Return a database's address as `open_store` takes it."""
        return f"mariadb+pyodbc://root@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str) -> pyodbc.Connection:
        """Return an autocommitting connection in UTC."""
        connection: pyodbc.Connection = driver_manager().connect(
            f"Driver={{{DRIVER}}};Server=127.0.0.1;Port={self.port};User=root;"
            f"Database={database};charset=utf8mb4",
            autocommit=True,
        )
        connection.setencoding("utf-8")  # the driver garbles long parameters in UTF-16
        connection.execute("SET time_zone = '+00:00'")
        return connection

    def kill(self) -> None:
        """End the server at once, in the middle of whatever it does."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """Start the server that ended on its data and port, and wait until it answers."""
        self.process = _spawned(self.command, self.folder)
        if not _answers(self):
            pytest.fail(f"the server did not come back:\n{self.log()}")

    def log(self) -> str:
        """Return what the server has said so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def running_mariadb(*options: str, durable: bool = False) -> Iterator[MariaDBServer]:
    """Start a MariaDB of our own, stop it at the end, and leave nothing behind.

    Without `durable` nothing waits for the disk: a test's database is made and gone in a moment.
    `options` go to the server as they are.
    Where the server or its driver is not installed the test is skipped, but fails under CI.
    """
    daemon = program("mariadbd", PACKAGE)
    installer = program("mariadb-install-db", PACKAGE)
    need_driver()
    # Not pytest's own folder: the path of a socket may have no more than some hundred bytes.
    with tempfile.TemporaryDirectory(prefix="mariadb-", dir=None if durable else SCRATCH) as name:
        folder = Path(name)
        _install(installer, folder)
        server = _started(daemon, folder, (*(() if durable else UNSAFE), *options))
        try:
            yield server
        finally:
            _stop(server.process)


def need_driver() -> None:
    """Skips the test where a client of MariaDB can't be, but fails it under CI."""
    if DRIVER not in driver_manager().drivers():
        missing(f"the ODBC driver {DRIVER!r}", "odbc-mariadb")


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


def _temporary(folder: Path) -> Path:
    """A folder for temporary tables: servers that share one delete each other's when they start."""
    made = folder / "temporary"
    made.mkdir(exist_ok=True)
    return made


def _install(installer: str, folder: Path) -> None:
    done = subprocess.run(
        [
            installer,
            "--no-defaults",
            f"--datadir={folder / 'data'}",
            f"--tmpdir={_temporary(folder)}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *_as_root(),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{installer} failed:\n{done.stdout}{done.stderr}")


def _started(daemon: str, folder: Path, options: tuple[str, ...]) -> MariaDBServer:
    """Start the server on a port that is free; on another one if somebody was faster."""
    said = ""
    for _ in range(3):
        server = _launched(daemon, folder, options)
        try:
            if _answers(server):
                return server
        except BaseException:
            _stop(server.process)
            raise
        said = server.log()
        if "Address already in use" not in said:
            break
    pytest.fail(f"{daemon} ended before it answered:\n{said}")


def _launched(daemon: str, folder: Path, options: tuple[str, ...]) -> MariaDBServer:
    port = free_port()
    command = [
        daemon,
        "--no-defaults",
        f"--datadir={folder / 'data'}",
        f"--tmpdir={_temporary(folder)}",
        f"--socket={folder / 'socket'}",
        f"--pid-file={folder / 'pid'}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        *options,
        *_as_root(),
    ]
    (folder / "log").unlink(missing_ok=True)
    return MariaDBServer(port, folder, command, _spawned(command, folder))


def _spawned(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _answers(server: MariaDBServer) -> bool:
    """Wait until the server answers; False if it ended instead."""
    end = time.monotonic() + SECONDS_TO_START
    while server.process.poll() is None:
        try:
            server.connect("mysql").close()
            return True
        except driver_manager().Error as refusal:
            if time.monotonic() > end:
                raise TimeoutError(f"mariadbd does not answer:\n{server.log()}") from refusal
            time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
