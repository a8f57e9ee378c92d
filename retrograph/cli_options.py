"""What commands share: settings as options, an open store, bars of progress."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from retrograph.resolvers.importing.stream import Progress as Tell
from retrograph.resolvers.retention import RetentionRule
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.token_counters import find_counter
from retrograph.rules.instant import SECOND, parse_instant
from retrograph.settings import DEFAULTS, PREFIX, Settings, flag_of, load_settings
from retrograph.storage.store import open_store
from retrograph.upcaster_loading import load_upcasters

Command = Callable[..., None]

_log = logging.getLogger(__name__)

_SQLITE = "sqlite:///"

_SETTINGS = {
    "database": (
        "FILE",
        "The database: a file, sqlite:///path, mariadb+pyodbc://… or mssql+pyodbc://… (untried)",
    ),
    "host": ("HOST", "The address to serve at."),
    "port": ("PORT", "The port to serve at; 0 takes a free one."),
    "tenant": ("ID", "The tenant to act for."),
    "fleet": ("ID", "The fleet to act on."),
    "auth": ("KIND", "How callers prove who they are: `token`, or `none` on this machine alone."),
    "jwt_secret": ("TEXT", "The secret that signs tokens; others may see flags, not variables."),
    "jwt_secret_file": ("FILE", "The file with the secret that signs tokens."),
    "jwks": ("PLACE", "The file or URL with the public keys that verify tokens."),
    "jwt_issuer": ("TEXT", "Whom tokens must be issued by."),
    "jwt_audience": ("TEXT", "Whom tokens must be meant for."),
    "jwt_leeway": ("SECONDS", "How far the issuer's clock may be off."),
    "cors_origins": ("ORIGINS", "Pages that may ask from browsers: https://app.example,… or *."),
    "receive_timeout": ("SECONDS", "How long a request's head, and then its body, may take."),
    "max_cost": ("NUMBER", "What one operation may cost."),
    "operation_timeout": ("SECONDS", "How long one operation may take."),
    "sweep_every": ("SECONDS", "How often to look for what has expired; 0 leaves it to others."),
    "redis": ("URL", "A Redis through which servers hear of each other's commits at once."),
    "compact_every": ("SECONDS", "How often to compact episodes, where it sweeps; 0: never."),
    "redis_streams": ("SWITCH", "Publish every event to a stream of that Redis: on or off."),
    "redis_stream_length": ("COUNT", "Entries that such a stream keeps, about; 0: all of them."),
    "webhook": ("URL", "Where events are posted: https://…, or http:// on this machine."),
    "webhook_secret": ("TEXT", "The secret that signs them; others may see flags, not variables."),
    "webhook_secret_file": ("FILE", "The file with the secret that signs them."),
    "introspection": ("SWITCH", "Whether clients may ask for the schema: on or off."),
    "persisted_documents": ("PLACE", "A folder or manifest of the only documents to execute."),
    "upcasters": ("MODULE", "Upcasters for old checkpoints: package.module or module:NAME."),
    "checkpoint_bytes": ("NUMBER", "The most bytes of a checkpoint's payload."),
    "tokens": ("NAME", "Count tokens by `estimate`, or by an encoding of tiktoken."),
    "recall_memory": ("BYTES", "How much memory recall may keep vectors in."),
    "keep_checkpoints": ("COUNT", "How many of the last checkpoints of each execution stay."),
    "keep_checkpoints_days": ("DAYS", "For how long checkpoints stay in any case."),
    "log_level": ("LEVEL", "The least that is logged: debug, info, warning or error."),
    "graphiql": ("on|off", "Serve a page for browsers, where queries can be tried."),
    "keep_alive": ("SECONDS", "How often streams show a sign of life."),
    "socket_operations": ("COUNT", "How many operations a WebSocket may run at once."),
    "caller_streams": ("COUNT", "How many subscriptions, and sockets, a caller may have open."),
}


def takes_settings(*names: str, defaults: Settings = DEFAULTS) -> Callable[[Command], Command]:
    """Gives a command the options of these settings and hands it all of them as `settings`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            flags = {name: given.pop(name) for name in names}
            command(settings=load_settings(flags, defaults=defaults), **given)

        decorated: Command = run
        for name in reversed(names):
            metavar, text = _SETTINGS[name]
            default = getattr(defaults, name)
            shown = "" if default is None else f"; default: {default}"
            told = f"{text}  [{PREFIX}{name.upper()}{shown}]"
            decorated = click.option(flag_of(name), metavar=metavar, help=told)(decorated)
        return decorated

    return decorate


def database_file(settings: Settings) -> Path | None:
    """The file that holds the database, or None where none does."""
    file = settings.database.removeprefix(_SQLITE)
    return None if "://" in file else Path(file)


class Instant(click.ParamType[int]):
    """An RFC 3339 instant, as UTC microseconds."""

    name = "instant"

    def convert(
        self,
        value: str,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 (click's signature)
    ) -> int:
        """Raises `InvalidInput` with what is wrong about the text."""
        return parse_instant(value, field=(param.name or "",) if param else ())


@contextmanager
def open_scope(settings: Settings, *, make: bool = False) -> Iterator[Scope]:
    """The tenant of the settings, with every fleet and role; closes the store at the end.

    With `make`, a database that is missing is made and an old one is migrated, which is logged.
    """
    upcasters, counter = load_upcasters(settings.upcasters), find_counter(settings.tokens)
    store = open_store(
        settings.database,
        migrate=make,
        count_tokens=counter,
        recall_bytes=settings.recall_memory,
    )
    if store.done:
        steps = " … ".join(dict.fromkeys((store.done[0], store.done[-1])))
        _log.info("%s is brought up to date: %s", settings.told_database, steps)
    try:
        roles, most = frozenset(Role), settings.checkpoint_bytes
        yield Scope(store, settings.tenant, None, roles, upcasters, most)
    finally:
        store.close()


def retention_rule(settings: Settings) -> RetentionRule | None:
    """Which checkpoints of every execution are to go; None: none."""
    last, days = settings.keep_checkpoints, settings.keep_checkpoints_days
    if not last and not days:
        return None
    return RetentionRule(last or 1, days * 86_400 * SECOND if days else None)


@contextmanager
def progress_bars() -> Iterator[Tell]:
    """Bars on stderr, one a stage, if that is a terminal; else nothing is shown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell
