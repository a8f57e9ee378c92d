"""What can be set: by flags, else by `RETROGRAPH_*` variables, else the defaults; and whether
OpenTelemetry's variables ask for traces.

Nothing else in the project reads the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from ipaddress import ip_address

from retrograph.rules.errors import ConfigurationError, InvalidInput
from retrograph.rules.limits import MAX_COST, MAX_PAYLOAD_BYTES, OPERATION_SECONDS, check_id
from retrograph.rules.url import split_url

PREFIX = "RETROGRAPH_"
ANY_ORIGIN = "*"
LOG_LEVELS = ("debug", "info", "warning", "error")
MAX_TIMEOUT = 3_600
MAX_OPERATIONS = 10_000
MAX_STREAMS = 100_000
MAX_KEPT = 1_000_000
MAX_KEPT_DAYS = 36_500
MAX_MAX_COST = 10**9
MAX_RECALL_MEMORY = 10**12 - 1
MAX_COMPACTION = 31 * 86_400
"""Seconds between two compactions."""
MAX_LENGTH = 10**9
MAX_LEEWAY = 300
"""Seconds that the clock of whoever issues tokens may differ by."""

_ORIGIN = re.compile(r"https?://([a-z0-9_.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_MODULE = re.compile(r"\w+(\.\w+)*(:\w+(\.\w+)*)?")
_KEYS = ("jwt_secret", "jwt_secret_file", "jwks")
"""The settings that each say what verifies tokens."""

_OTLP_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_PASSWORD = re.compile(
    r"(^\w[\w+.-]*://[^/?#@:]*:).+(?=@)|([?&](?:pwd|password)=)[^&]+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the program runs.

    `database` is a file or a URL; `port` 0 takes a free one; `tenant` and `fleet` are what
    commands act on; `auth` says who may ask: with `none`, everybody who reaches this machine's
    loopback acts as `tenant`, with every fleet and role; with `token`, who has a token. Tokens are
    verified with `jwt_secret`, with the text of `jwt_secret_file`, or with the key set at `jwks`, a
    file or URL; `jwt_leeway` is in seconds. Pages from `cors_origins` may ask, too. The head of a
    request may take `receive_timeout` seconds to arrive, and so may its body. An operation may cost
    `max_cost` and take `operation_timeout` seconds. `graphiql` and `introspection` are `on` or
    `off`. With `persisted_documents`, a folder or a manifest, no others are executed. Streams show
    a sign of life every `keep_alive` seconds, and a WebSocket runs at most `socket_operations`. A
    caller has at most `caller_streams` subscriptions open, and as many WebSockets.
    What time brings is swept for every `sweep_every` seconds; 0: by others. Who
    sweeps compacts episodes every `compact_every` seconds; 0: nobody. Processes on one database
    hear of each other's commits at once through the Redis at `redis`. With `redis_streams`
    `on` one of them publishes every event there, to streams of about `redis_stream_length` entries
    (0: all). A relay posts events to the URL `webhook`, signed with `webhook_secret` or the text of
    `webhook_secret_file`. `upcasters` names a
    module with functions that bring old payloads of checkpoints to their current versions. A
    checkpoint that is committed, or the result of a step, has at most `checkpoint_bytes`. The last
    `keep_checkpoints` of each execution stay, and those of the last `keep_checkpoints_days`; 0 for
    both: all of them. `tokens` names what counts those of working memories: `estimate`, or an
    encoding of tiktoken. Recall may keep `recall_memory` bytes of vectors at hand.
    """

    database: str = "retrograph.db"
    host: str = "127.0.0.1"
    port: int = 8000
    tenant: int = 1
    fleet: int = 1
    auth: str = "none"
    jwt_secret: str | None = field(default=None, repr=False)
    jwt_secret_file: str | None = None
    jwks: str | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_leeway: int = 30
    cors_origins: tuple[str, ...] | None = None
    receive_timeout: int = 30
    log_level: str = "info"
    graphiql: str = "on"
    keep_alive: int = 20
    socket_operations: int = 100
    caller_streams: int = 1_000
    max_cost: int = MAX_COST
    operation_timeout: int = OPERATION_SECONDS
    sweep_every: int = 10
    compact_every: int = 86_400
    redis: str | None = field(default=None, repr=False)
    redis_streams: str = "off"
    redis_stream_length: int = 100_000
    webhook: str | None = field(default=None, repr=False)
    webhook_secret: str | None = field(default=None, repr=False)
    webhook_secret_file: str | None = None
    introspection: str = "on"
    persisted_documents: str | None = None
    upcasters: str | None = None
    checkpoint_bytes: int = MAX_PAYLOAD_BYTES
    tokens: str = "estimate"
    recall_memory: int = 2_000_000_000
    keep_checkpoints: int = 0
    keep_checkpoints_days: int = 0

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


def trace_exporter(environment: Mapping[str, str] = os.environ) -> str | None:
    """The exporter of traces that OpenTelemetry's variables ask for; None where they ask for none.

    What else they say is read by OpenTelemetry itself.
    """
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    chosen = environment.get("OTEL_TRACES_EXPORTER") or (
        "otlp" if any(map(environment.get, _OTLP_ENDPOINTS)) else "none"
    )
    return None if chosen == "none" else chosen


def flag_of(name: str) -> str:
    """The flag of a setting: `--jwt-issuer` of `jwt_issuer`."""
    return "--" + name.replace("_", "-")


def check_exposure(settings: Settings) -> None:
    """Refuses to serve without authentication anywhere but on the loopback, or with half of it."""
    if settings.auth == "none" and not is_loopback(settings.host):
        raise ConfigurationError(
            f"Without authentication the server answers on this machine alone; {settings.host} "
            "can be reached from others. Use --auth token, or --host 127.0.0.1.",
            path=("host",),
        )
    if settings.auth == "none" and ANY_ORIGIN in (settings.cors_origins or ()):
        raise ConfigurationError(
            "Without authentication any page in a browser here could write; name the origins in "
            "--cors-origins.",
            path=("cors_origins",),
        )
    _check_keys(settings)


def _check_keys(settings: Settings) -> None:
    keys = [name for name in _KEYS if getattr(settings, name) is not None]
    if settings.auth == "none" and keys:
        raise ConfigurationError(
            f"{flag_of(keys[0])} is given, but nobody is asked for a token; add --auth token.",
            path=("auth",),
        )
    if settings.auth == "token" and len(keys) != 1:
        raise ConfigurationError(
            "To verify tokens, give one of " + ", ".join(map(flag_of, _KEYS)) + ".",
            path=("auth",),
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


def _module(text: str, origin: str) -> str:
    if not _MODULE.fullmatch(text):
        raise ConfigurationError(
            f"{origin} names no module; give one like package.module or package.module:NAME."
        )
    return text


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
    if text not in {"none", "token"}:
        raise ConfigurationError(f"{origin} is `none` or `token`.")
    return text


_SAFE_URL = "an https:// URL, or an http:// one of this machine"


def _place(text: str, origin: str) -> str:
    """A file, or a URL whose answer nobody can change on its way."""
    if "://" not in text:
        return _words(text, origin)
    return _safe_url(text, origin, ", or a file")


def _redis(text: str, origin: str) -> str:
    if not text.startswith(("redis://", "rediss://", "unix://")) or not text.partition("://")[2]:
        raise ConfigurationError(f"{origin} is no URL of a Redis; give one like redis://host:6379.")
    return text


def _length(text: str, origin: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:12]) <= MAX_LENGTH):
        raise ConfigurationError(f"{origin} is no number of entries from 0 to {MAX_LENGTH:,}.")
    return int(text)


def _webhook(text: str, origin: str) -> str:
    """A URL whose answers nobody can forge on their way."""
    return _safe_url(text, origin)


def _safe_url(text: str, origin: str, or_else: str = "") -> str:
    try:
        parts = split_url(text)
    except ValueError as error:
        raise ConfigurationError(f"{origin} {error}.") from None
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ConfigurationError(f"{origin} must be {_SAFE_URL}{or_else}.")
    return text


def _seconds(least: int, most: int, text: str, origin: str) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text[:6]) <= most):
        raise ConfigurationError(f"{origin} is no number of seconds from {least} to {most:,}.")
    return int(text)


def _number(most: int, text: str, origin: str, least: int = 1) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
        raise ConfigurationError(f"{origin} is no number from {least} to {most:,}.")
    return int(text)


def _switch(text: str, origin: str) -> str:
    if text not in {"on", "off"}:
        raise ConfigurationError(f"{origin} is a switch; give `on` or `off`.")
    return text


def _origins(text: str, origin: str) -> tuple[str, ...]:
    found = tuple(each.strip() for each in text.split(","))
    if not all(each == ANY_ORIGIN or _ORIGIN.fullmatch(each) for each in found):
        raise ConfigurationError(
            f"{origin} is no list of origins; give some like https://app.example, or *."
        )
    return found


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
    "jwt_secret": _words,
    "jwt_secret_file": _words,
    "jwks": _place,
    "jwt_issuer": _words,
    "jwt_audience": _words,
    "jwt_leeway": partial(_seconds, 0, MAX_LEEWAY),
    "cors_origins": _origins,
    "receive_timeout": partial(_seconds, 1, MAX_TIMEOUT),
    "log_level": _level,
    "graphiql": _switch,
    "keep_alive": partial(_seconds, 1, MAX_TIMEOUT),
    "socket_operations": partial(_number, MAX_OPERATIONS),
    "caller_streams": partial(_number, MAX_STREAMS),
    "max_cost": partial(_number, MAX_MAX_COST),
    "operation_timeout": partial(_seconds, 1, MAX_TIMEOUT),
    "redis": _redis,
    "redis_streams": _switch,
    "redis_stream_length": _length,
    "webhook": _webhook,
    "webhook_secret": _words,
    "webhook_secret_file": _words,
    "sweep_every": partial(_seconds, 0, MAX_TIMEOUT),
    "compact_every": partial(_seconds, 0, MAX_COMPACTION),
    "introspection": _switch,
    "persisted_documents": _words,
    "upcasters": _module,
    "checkpoint_bytes": partial(_number, MAX_PAYLOAD_BYTES),
    "tokens": _words,
    "recall_memory": partial(_number, MAX_RECALL_MEMORY),
    "keep_checkpoints": partial(_number, MAX_KEPT, least=0),
    "keep_checkpoints_days": partial(_number, MAX_KEPT_DAYS, least=0),
}
