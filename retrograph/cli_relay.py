"""`retrograph relay`: takes events to a webhook or to Redis Streams; `serve` does the latter."""

from __future__ import annotations

import hashlib
import signal
import sys
from urllib.parse import urlsplit

import click

from retrograph.authentication import webhook_secret
from retrograph.cli_log import configure_logging
from retrograph.cli_options import Instant, open_scope, takes_settings
from retrograph.relaying import Relaying, polling
from retrograph.resolvers.relay import Relay, Sink
from retrograph.rules.errors import ConfigurationError, StorageError
from retrograph.rules.instant import in_future
from retrograph.schema.webhook import Webhook
from retrograph.settings import Settings, trace_exporter
from retrograph.storage.redis_stream import RedisStreams
from retrograph.storage.store import Store
from retrograph.telemetry import traced

POLL_SECONDS = 0.2
"""How often it is asked whether a process has committed."""
MAX_NAME = 32
"""Behind a kind and a colon it is the name of a lease, which has 40 at most."""


@click.command("relay")
@click.option("--once", is_flag=True, help="Stop when all that is there has arrived, or can't.")
@click.option(
    "--since",
    type=Instant(),
    metavar="INSTANT",
    help="Leave out what happened up to then, in fleets that it has relayed nothing of yet.",
)
@click.option(
    "--name",
    metavar="TEXT",
    help="Whose place in the outbox it takes; by default that of the URL, without its query.",
)
@takes_settings(
    *("database", "webhook", "webhook_secret", "webhook_secret_file"),
    *("redis", "redis_streams", "redis_stream_length", "log_level"),
)
def relay(settings: Settings, once: bool, since: int | None, name: str | None) -> None:
    """Take every fleet's events to a webhook (or to Redis Streams), in order, as they come.

    One process leads among those of the same name. What has arrived is noted in the database, so
    that it goes on where it was; what is sent again after a failure tells itself by its cursor.
    """
    configure_logging(settings.log_level)
    kind, sink, target = _sink(settings)
    if name is not None and not 0 < len(name) <= MAX_NAME:
        raise ConfigurationError(f"--name must have 1 to {MAX_NAME} characters.")
    with traced(trace_exporter()), open_scope(settings) as scope:
        if since is not None and since > (now := scope.store.now()):
            raise in_future(now, field=("since",))
        relaying = Relay(scope.store, _name(kind, target, name), sink, since or 0)
        if once:
            _relay_once(relaying)
        else:
            _relay_on(scope.store, relaying)


def redis_relaying(store: Store, settings: Settings) -> Relaying | None:
    """What publishes events while a process serves; None where nobody asked for it."""
    if settings.redis_streams == "off":
        return None
    kind, sink, target = _redis_sink(settings)
    return Relaying(Relay(store, _name(kind, target), sink))


def _sink(settings: Settings) -> tuple[str, Sink, str]:
    """What events are taken to: its kind, itself, and what it is told by."""
    if settings.webhook is None:
        if settings.redis_streams == "off":
            raise ConfigurationError(
                "Say where to: with --webhook URL, or with --redis URL --redis-streams on.",
                path=("webhook",),
            )
        return _redis_sink(settings)
    if settings.redis_streams == "on":
        raise ConfigurationError(
            "A relay has one aim: give --webhook or --redis-streams on, and run another.",
            path=("redis_streams",),
        )
    webhook = Webhook(settings.webhook, webhook_secret(settings))
    return "webhook", webhook, _told(settings.webhook)


def _redis_sink(settings: Settings) -> tuple[str, Sink, str]:
    if settings.redis is None:
        raise ConfigurationError(
            "Say which Redis the streams are of, with --redis URL.", path=("redis",)
        )
    streams = RedisStreams(settings.redis, settings.redis_stream_length)
    return "redis", streams, _told(settings.redis)


def _name(kind: str, target: str, given: str | None = None) -> str:
    """No other job's: those of sweepers have no colon."""
    return f"{kind}:{given or hashlib.sha256(target.encode()).hexdigest()[:16]}"


def _told(url: str) -> str:
    """A URL without what may change though the place doesn't: passwords, tokens."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}:{parts.port or ''}{parts.path}"


def _relay_once(relaying: Relay) -> None:
    try:
        delivered = relaying.step()
    finally:
        relaying.resign()
    if delivered is None:
        click.echo("Another process relays.")
    else:
        click.echo(f"Delivered {delivered:,} events.")


def _relay_on(store: Store, found: Relay) -> None:
    def has_news() -> bool:
        try:
            return store.poll()
        except StorageError:
            return True  # the next turn fails in its turn, and waits

    relaying = Relaying(found, polling(has_news, POLL_SECONDS))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    click.echo(f"Relaying as {found.name}  (Ctrl-C ends it)")
    try:
        relaying.run()
    except KeyboardInterrupt:
        click.echo("Stopped.")
