"""`retrograph relays`: looks after the places that relays have in the outbox."""

from __future__ import annotations

import click

from retrograph.cli_options import open_scope, takes_settings
from retrograph.resolvers.forget_relay import forget_relay
from retrograph.resolvers.queues import backlog_of
from retrograph.rules.instant import format_instant
from retrograph.settings import Settings


@click.group("relays")
def relays() -> None:
    """Look after relays, those that run no more among them."""


@relays.command("list")
@takes_settings("database")
def list_relays(settings: Settings) -> None:
    """Name every relay, over all tenants, and say what waits for it."""
    with open_scope(settings) as scope:
        for name, relay in sorted(backlog_of(scope.store).relays.items()):
            waits = relay.oldest and f", others wait since {format_instant(relay.oldest)}"
            click.echo(f"{name}: {relay.dispatched:,} events dispatched{waits or ''}.")


@relays.command("forget")
@click.argument("name")
@takes_settings("database")
def forget(settings: Settings, name: str) -> None:
    """Forget a relay that runs no more; one of the same name begins at the beginning."""
    with open_scope(settings) as scope:
        forget_relay(scope.store, name)
    click.echo(f"Forgot {name}.")
