"""Which ODBC driver reaches SQL Server, and the connection string that it takes."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from retrograph.rules.errors import DriverMissing
from retrograph.storage.odbc import joined

PACKAGE = "mssql_python_odbc"
"""Comes with the extra `mssql` and holds Microsoft's driver, which is found by its path."""
INSTALLED = ("ODBC Driver 18 for SQL Server", "ODBC Driver 17 for SQL Server", "FreeTDS")
"""Names under which drivers are registered, the best first."""
MISSING = (
    "No ODBC driver for SQL Server is installed. Install Microsoft's by pip install "
    "'.[mssql]' in a checkout or as msodbcsql18, or FreeTDS as tdsodbc; another is named by "
    "?driver=… at the end of the database's URL."
)
_FLAVOURS = {"rhel": "rhel", "fedora": "rhel", "centos": "rhel", "suse": "suse", "opensuse": "suse"}
"""The folder of each family of Linux; all others get the one of Debian."""


def driver_for(url: URL, odbc: Any) -> str:
    """The driver that a URL names, else the first that is there; raises `DriverMissing`."""
    named = url.query.get("driver")
    if named:
        return str(named)
    shipped = shipped_driver()
    if shipped is not None:
        return str(shipped)
    known = set(odbc.drivers())
    for name in INSTALLED:
        if name in known:
            return name
    raise DriverMissing(MISSING)


def shipped_driver() -> Path | None:
    """Microsoft's driver inside its Python package, if that is installed for this machine."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "libs" / "linux" / _flavour()
    found = sorted(folder.glob("*/lib/libmsodbcsql*.so*"))  # a wheel is for one processor
    return found[-1] if found else None


def connection_string(url: URL, driver: str) -> str:
    """What the driver takes; the URL's query passes through: `Encrypt`, say."""
    host, port = url.host or "127.0.0.1", url.port or 1433
    place = {"Server": f"{host},{port}"}
    if "tds" in driver.lower():
        # Older versions of the protocol know no instants to the microsecond.
        place = {"Server": host, "Port": str(port), "TDS_Version": "7.4", "ClientCharset": "UTF-8"}
    user = {} if url.username is None else {"UID": url.username, "PWD": str(url.password or "")}
    options = {name: str(value) for name, value in url.query.items() if name != "driver"}
    return joined({"Driver": driver, **place, "Database": url.database or "", **user, **options})


def _flavour() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    return next((_FLAVOURS[name] for name in names if name in _FLAVOURS), "debian_ubuntu")
