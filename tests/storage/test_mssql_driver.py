"""Which driver is taken for SQL Server, and what it is told."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import make_url

from retrograph.rules.errors import ConfigurationError, DatabaseUnavailable, DriverMissing
from retrograph.storage.mssql.driver import (
    INSTALLED,
    PACKAGE,
    connection_string,
    driver_for,
    shipped_driver,
)
from retrograph.storage.store import open_store
from tests.odbc import pyodbc

URL = make_url("mssql+pyodbc://reader:ge}heim@db.example:1444/memory?Encrypt=strict")
LIBRARY = "libs/linux/{}/x86_64/lib/libmsodbcsql-18.{}.so.2.1"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package laid out as Microsoft's is, which is found instead of one that is installed."""
    folder = tmp_path / PACKAGE
    for flavour in ("debian_ubuntu", "rhel", "suse"):
        for version in (5, 6):
            library = folder / LIBRARY.format(flavour, version)
            library.parent.mkdir(parents=True, exist_ok=True)
            library.touch()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    return folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])


def odbc(*names: str) -> Any:
    return SimpleNamespace(drivers=lambda: list(names))


@pytest.mark.parametrize(
    ("release", "flavour"),
    [
        ({"ID": "debian"}, "debian_ubuntu"),
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, "debian_ubuntu"),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "rhel"),
        ({"ID": "opensuse-leap", "ID_LIKE": "suse opensuse"}, "suse"),
        ({}, "debian_ubuntu"),
    ],
)
def test_the_shipped_driver_is_found_by_its_path(
    package: Path, monkeypatch: pytest.MonkeyPatch, release: dict[str, str], flavour: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert shipped_driver() == package / LIBRARY.format(flavour, 6)
    assert driver_for(make_url("mssql+pyodbc://h/n"), odbc(*INSTALLED)) == str(shipped_driver())


@pytest.mark.usefixtures("package")
def test_a_machine_that_tells_nothing_of_itself_gets_a_driver_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown() -> dict[str, str]:
        raise OSError

    monkeypatch.setattr(platform, "freedesktop_os_release", unknown)
    assert "debian_ubuntu" in str(shipped_driver())


@pytest.mark.usefixtures("no_package")
def test_an_installed_driver_is_taken_by_its_name() -> None:
    url = make_url("mssql+pyodbc://h/n")
    assert driver_for(url, odbc("SQLite3", *reversed(INSTALLED))) == INSTALLED[0]
    assert driver_for(url, odbc("FreeTDS", "SQLite3")) == "FreeTDS"
    with pytest.raises(DriverMissing, match=r"\.\[mssql\]"):
        driver_for(url, odbc("SQLite3"))


@pytest.mark.usefixtures("package")
def test_the_url_names_another_driver() -> None:
    assert driver_for(make_url("mssql+pyodbc://h/n?driver=Mine"), odbc()) == "Mine"


def test_what_microsofts_driver_is_told() -> None:
    assert connection_string(URL, "/lib/libmsodbcsql.so") == (
        "Driver={/lib/libmsodbcsql.so};Server={db.example,1444};Database={memory};"
        "UID={reader};PWD={ge}}heim};Encrypt={strict}"
    )


def test_freetds_is_told_a_protocol_that_knows_microseconds() -> None:
    text = connection_string(make_url("mssql+pyodbc://u:p@h/n?driver=FreeTDS"), "FreeTDS")
    assert text == (
        "Driver={FreeTDS};Server={h};Port={1433};TDS_Version={7.4};ClientCharset={UTF-8};"
        "Database={n};UID={u};PWD={p}"
    )


def test_nobody_is_named_where_the_url_names_nobody() -> None:
    text = connection_string(make_url("mssql+pyodbc://h/n?Trusted_Connection=yes"), "D")
    assert text == "Driver={D};Server={h,1433};Database={n};Trusted_Connection={yes}"


@pytest.mark.parametrize("url", ["mssql+pyodbc://host", "mssql+pyodbc://host:port/name"])
def test_a_url_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"mssql\+pyodbc://user:password@host"):
        open_store(url)


def test_a_driver_that_is_not_there_is_told() -> None:
    """By the real driver manager."""
    with pytest.raises(DriverMissing):
        open_store("mssql+pyodbc://u:p@127.0.0.1:9/n?driver=/nowhere/libmsodbcsql.so")


@pytest.mark.long
@pytest.mark.skipif(shipped_driver() is None, reason="the extra mssql is not installed")
def test_a_server_that_is_not_there_is_told() -> None:
    """By Microsoft's own driver, which gives up after some seconds."""
    assert pyodbc.drivers() is not None
    with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1 is gone or refuses"):
        open_store("mssql+pyodbc://u:p@127.0.0.1:9/n")
