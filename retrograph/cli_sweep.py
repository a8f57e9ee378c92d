"""`retrograph sweep`: does what time brings, for whoever doesn't leave that to `serve`."""

from __future__ import annotations

from threading import Event

import click

from retrograph.cli_log import configure_logging
from retrograph.cli_options import open_scope, retention_rule, takes_settings
from retrograph.resolvers.sweep import Sweeper, Swept
from retrograph.settings import MAX_TIMEOUT, Settings, trace_exporter
from retrograph.telemetry import traced


@click.command("sweep")
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.IntRange(1, MAX_TIMEOUT),
    help="Goes on, and sweeps so often; without, it sweeps once.",
)
@takes_settings(
    *("database", "log_level", "keep_checkpoints", "keep_checkpoints_days"),
    *("recall_memory", "compact_every"),
)
def sweep(settings: Settings, every: int | None) -> None:
    """Expire what is past its time, run invalidations whose hour has come; for all tenants.

    With a rule, remove the checkpoints that need not stay. Now and then, compact episodes.
    """
    configure_logging(settings.log_level)
    with traced(trace_exporter()), open_scope(settings) as scope:
        sweeper = Sweeper(scope.store, retention_rule(settings), settings.compact_every or None)
        try:
            _tell(sweeper.step())
            while every is not None:
                Event().wait(every)
                _tell(sweeper.step())
        except KeyboardInterrupt:
            click.echo("Stopped.")
        finally:
            sweeper.resign()


def _tell(done: Swept | None) -> None:
    if done is None:
        click.echo("Another process sweeps.")
    else:
        click.echo(
            f"Expired {done.expired}, executed {done.executed}, failed {done.failed}, "
            f"removed {done.removed}."
        )
