"""What can be set: by flags, else by `RETROGRAPH_*` variables, else the defaults.

Nothing else in the project reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from ipaddress import ip_address

from retrograph.rules.errors import ConfigurationError, InvalidInput
from retrograph.rules.limits import check_id

PREFIX = "RETROGRAPH_"
ANY_ORIGIN = "*"
LOG_LEVELS = ("debug", "info", "warning", "error")
MAX_TIMEOUT = 3_600

_ORIGIN = re.compile(r"https?://([a-z0-9_.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")

_PASSWORD = re.compile(
    r"(^\w[\w+.-]*://[^/?#@:]*:).+(?=@)|([?&](?:pwd|password)=)[^&]+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the program runs.

    `database` is a file or a URL; `port` 0 takes a free one; `tenant` and `fleet` are what
    commands act on; `auth` says who may ask: with `none`, everybody who reaches this machine's
    loopback acts as `tenant`, with every fleet and role. Pages from `cors_origins` may ask,
    too. The head of a request may take `receive_timeout` seconds to arrive, and so may its body.
    """

    database: str = "retrograph.db"
    host: str = "127.0.0.1"
    port: int = 8000
    tenant: int = 1
    fleet: int = 1
    auth: str = "none"
    cors_origins: tuple[str, ...] | None = None
    receive_timeout: int = 30
    log_level: str = "info"

    @property
    def told_database(self) -> str:
        """The database as people may be told of it: without its password."""
        return _PASSWORD.sub(r"\1\2***", self.database)


DEFAULTS = Settings()


def load_settings(
    flags: Mapping[str, str | None] | None = None,
    environment: Mapping[str, str] = os.environ,
    *,
    defaults: Settings = DEFAULTS,
) -> Settings:
    """The settings by `flags` (text by setting; None is not given), environment and defaults.

    Raises `ConfigurationError` for a value that can't be; the message names where it came from.
    """
    chosen: dict[str, object] = {}
    for name in (each.name for each in fields(Settings)):
        flag, variable = (flags or {}).get(name), PREFIX + name.upper()
        if flag is not None:
            chosen[name] = _read(name, flag, flag_of(name))
        elif variable in environment:
            chosen[name] = _read(name, environment[variable], variable)
        else:
            chosen[name] = getattr(defaults, name)
    return Settings(**chosen)  # type: ignore[arg-type]  # _read gives each its type


def flag_of(name: str) -> str:
    """The flag of a setting: `--jwt-issuer` of `jwt_issuer`."""
    return "--" + name.replace("_", "-")


def check_exposure(settings: Settings) -> None:
    """Refuses to serve without authentication anywhere but on the loopback."""
    if settings.auth == "none" and not is_loopback(settings.host):
        raise ConfigurationError(
            f"Without authentication the server answers on this machine alone; {settings.host} "
            "can be reached from others. Use --host 127.0.0.1.",
            path=("host",),
        )
    if settings.auth == "none" and ANY_ORIGIN in (settings.cors_origins or ()):
        raise ConfigurationError(
            "Without authentication any page in a browser here could write; name the origins in "
            "--cors-origins.",
            path=("cors_origins",),
        )


def is_loopback(host: str) -> bool:
    """Whether `host` is `localhost` or an address of 127.0.0.0/8 or ::1."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _read(name: str, text: str, origin: str) -> object:
    return _READERS[name](text, origin)


def _words(text: str, origin: str) -> str:
    if not text.strip() or "\0" in text:
        raise ConfigurationError(f"{origin} is empty; give a value, or leave it out.")
    return text


def _port(text: str, origin: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65535):
        raise ConfigurationError(f"{origin} is no port; give a number from 0 to 65535.")
    return int(text)


def _id(text: str, origin: str) -> int:
    try:
        return check_id(text)
    except InvalidInput:
        raise ConfigurationError(f"{origin} is no id; give a 64-bit integer.") from None


def _auth(text: str, origin: str) -> str:
    if text != "none":
        raise ConfigurationError(f"{origin} knows only `none` so far.")
    return text


def _origins(text: str, origin: str) -> tuple[str, ...]:
    found = tuple(each.strip() for each in text.split(","))
    if not all(each == ANY_ORIGIN or _ORIGIN.fullmatch(each) for each in found):
        raise ConfigurationError(
            f"{origin} is no list of origins; give some like https://app.example, or *."
        )
    return found


def _timeout(text: str, origin: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= MAX_TIMEOUT):
        raise ConfigurationError(f"{origin} is no number of seconds from 1 to {MAX_TIMEOUT:,}.")
    return int(text)


def _level(text: str, origin: str) -> str:
    if text not in LOG_LEVELS:
        raise ConfigurationError(f"{origin} is one of {', '.join(LOG_LEVELS)}.")
    return text


_READERS: Mapping[str, Callable[[str, str], object]] = {
    "database": _words,
    "host": _words,
    "port": _port,
    "tenant": _id,
    "fleet": _id,
    "auth": _auth,
    "cors_origins": _origins,
    "receive_timeout": _timeout,
    "log_level": _level,
}
