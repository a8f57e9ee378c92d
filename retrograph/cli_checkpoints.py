"""`retrograph checkpoints`: what speaks for the executions that are stored."""

from __future__ import annotations

from dataclasses import replace

import click

from retrograph.cli_options import open_scope, retention_rule, takes_settings
from retrograph.resolvers.check_upcasts import check_upcasts
from retrograph.resolvers.retention import retain_fleet
from retrograph.rules.errors import ConfigurationError
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


@checkpoints.command("retain")
@click.option("--by", required=True, help="Who signs it off.")
@click.option("--reason", required=True, help="Why.")
@click.option("--dry-run", is_flag=True, help="Only tell how many would go.")
@takes_settings("database", "tenant", "keep_checkpoints", "keep_checkpoints_days")
def retain(settings: Settings, by: str, reason: str, dry_run: bool) -> None:
    """Remove old checkpoints of every execution of the tenant for good; anchors stay for them."""
    rule = retention_rule(settings)
    if rule is None:
        raise ConfigurationError(
            "Say what stays: --keep-checkpoints COUNT, --keep-checkpoints-days DAYS, or both."
        )
    rule, count, failed = replace(rule, by=by, reason=reason), 0, 0
    with open_scope(settings) as scope:
        for fleet_id in scope.held_fleets():
            for each in retain_fleet(scope, fleet_id, rule, dry_run=dry_run):
                count += each.removed
                fault = each.fault
                failed += fault is not None
                told = f"[{fault.code}] {fault.message}" if fault else f"{each.removed:,}"
                click.echo(f"Fleet {fleet_id}, {each.execution_id!r}: {told}")
    click.echo(f"{count:,} checkpoints {'would go' if dry_run else 'went'}.")
    if failed:
        click.get_current_context().exit(1)
