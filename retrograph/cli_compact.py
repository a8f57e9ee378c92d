"""`retrograph compact`: retires episodes that nobody uses, and merges those that say the same."""

from __future__ import annotations

from threading import Event

import click

from retrograph.cli_log import configure_logging
from retrograph.cli_options import open_scope, takes_settings
from retrograph.resolvers.compact import Compacted, compact_fleet
from retrograph.settings import MAX_COMPACTION, Settings


@click.command("compact")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.IntRange(1, MAX_COMPACTION),
    help="Goes on, and compacts so often; without, it compacts once.",
)
@takes_settings("database", "tenant", "fleet", "recall_memory", "log_level")
def compact(settings: Settings, *, dry_run: bool, every: int | None) -> None:
    """Retire episodes that nobody uses, and merge those that say the same; of one fleet."""
    configure_logging(settings.log_level)
    with open_scope(settings) as scope:
        try:
            while True:
                for done in compact_fleet(scope, settings.fleet, dry_run=dry_run):
                    _tell(done, dry_run=dry_run)
                if every is None:
                    return
                Event().wait(every)
        except KeyboardInterrupt:
            click.echo("Stopped.")


def _tell(done: Compacted, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    members = sum(map(len, done.merged))
    click.echo(
        f"{done.domain}: {len(done.retired)} {would}retired, "
        f"{members} {would}merged into {len(done.merged)}, {done.skipped} not compared."
    )
