"""`retrograph checkpoints`: what speaks for the executions that are stored."""

from __future__ import annotations

import click

from retrograph.cli_options import open_scope, takes_settings
from retrograph.resolvers.check_upcasts import check_upcasts
from retrograph.settings import Settings


@click.group("checkpoints")
def checkpoints() -> None:
    """Look after checkpoints."""


@checkpoints.command("check")
@takes_settings("database", "tenant", "upcasters")
def check(settings: Settings) -> None:
    """Upcast every checkpoint of the tenant, write nothing, and tell which ones would not load."""
    count = failed = 0
    with open_scope(settings) as scope:
        for each in check_upcasts(scope):
            count += 1
            if each.fault is not None:
                failed += 1
                where = f"Fleet {each.fleet_id}, {each.execution_id!r}, checkpoint {each.sequence}"
                click.echo(f"{where}: [{each.fault.code}] {each.fault.message}")
    click.echo(f"{count:,} checkpoints, {failed:,} would not load.")
    if failed:
        click.get_current_context().exit(1)
