"""What the engines behind ODBC share: the driver manager, URLs, connection strings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from retrograph.rules.errors import ConfigurationError, DriverMissing


def loaded_manager(packages: str) -> Any:
    """The bridge to ODBC; the embedded default runs where no driver manager is installed."""
    try:
        return import_module("pyodbc")
    except ImportError as error:
        raise DriverMissing(f"The ODBC driver manager is missing; install {packages}.") from error


def parsed(database: str, scheme: str) -> URL:
    """A database's URL, which names a database; `ConfigurationError` for any other text."""
    try:
        url = make_url(database)
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(
            f"Give the database as {scheme}://user:password@host:port/name."
        ) from error
    if not url.database:
        raise ConfigurationError(f"Name the database: {scheme}://user:password@host/name.")
    return url


def joined(parts: Mapping[str, str]) -> str:
    """A connection string; whatever a value holds, it stays one value."""
    return ";".join(f"{name}={{{value.replace('}', '}}')}}}" for name, value in parts.items())
