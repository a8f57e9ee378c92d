"""Commands that act on a graph and watch it: `invalidate`, `tail`."""

from __future__ import annotations

import time

import click

from retrograph.cli_options import open_scope, takes_settings
from retrograph.cli_output import standard_output
from retrograph.resolvers.event_objects import event_objects
from retrograph.resolvers.events import list_events
from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.nodes import load_known
from retrograph.resolvers.runs import impact_paths, list_impacts
from retrograph.resolvers.scope import Scope
from retrograph.rules.cursor import decode_event_cursor
from retrograph.rules.limits import MAX_FIRST, MAX_ID, check_first
from retrograph.rules.validity import Validity, is_healthy
from retrograph.settings import Settings
from retrograph.storage.records import EventRecord, NodeRef, Page, RunRecord

POLL_SECONDS = 0.2
"""How often it is asked whether another process has committed."""

_EFFECTS = [validity.name for validity in Validity if not is_healthy(validity)]
_PATH = 20


@click.command("invalidate")
@click.argument("key")
@click.option("--reason", required=True, help="Why it can't be relied upon.")
@click.option(
    "--effect", type=click.Choice(_EFFECTS), default="INVALID", show_default=True, help="On KEY."
)
@click.option("--first", default=20, show_default=True, help="How many impacts to show.")
@takes_settings("database", "tenant", "fleet")
def invalidate_node(settings: Settings, key: str, reason: str, effect: str, first: int) -> None:
    """Knock out the node KEY; show what falls with it, and by which path."""
    check_first(first)
    with open_scope(settings) as scope:
        request = Invalidation(NodeRef(key=key), reason, Validity[effect])
        run = invalidate(scope, settings.fleet, request)
        click.echo(f"Run {run.id}, {run.status.name}: {run.impact_count:,} impacts.")
        for line in _impact_lines(scope, run, first):
            click.echo(line)
        if run.impact_count > first:
            click.echo(f"… and {run.impact_count - first:,} more.")


@click.command("tail")
@click.option(
    "--after",
    metavar="CURSOR",
    help="Start behind this event; 0-0 is the beginning. By default, what comes from now on; with "
    "--once, from the beginning.",
)
@click.option("--once", is_flag=True, help="Stop at the last event instead of waiting for more.")
@takes_settings("database", "tenant", "fleet")
def tail(settings: Settings, after: str | None, once: bool) -> None:
    """Print the fleet's events as JSON Lines, as they come.

    It waits for what comes from now on; --once prints what is there, from the beginning, and ends.
    --after goes on behind an event that was printed before. Nothing is left out and nothing comes
    twice.
    """
    position = None if after is None else decode_event_cursor(after)
    with open_scope(settings) as scope:
        if position is None and not once:
            position = (scope.clock(settings.fleet), MAX_ID)
        try:
            _follow(scope, settings.fleet, position, once=once)
        except KeyboardInterrupt:
            return


def _follow(scope: Scope, fleet_id: int, after: tuple[int, int] | None, *, once: bool) -> None:
    while True:
        scope.store.poll()  # what is committed from here on is told by the next poll
        after, complete = _print_events(scope, fleet_id, after)
        if complete and once:
            return
        while complete and not scope.store.poll():
            time.sleep(POLL_SECONDS)


def _print_events(
    scope: Scope, fleet_id: int, after: tuple[int, int] | None
) -> tuple[tuple[int, int] | None, bool]:
    """Prints a page; returns where to go on, and whether that was the last one."""
    page = list_events(scope, fleet_id, None, after, MAX_FIRST)
    out = standard_output()
    for event in event_objects(scope, fleet_id, page.as_of, page.rows):
        out.write(event + b"\n")
    out.flush()
    return _end_of(page) or after, not page.has_next


def _end_of(page: Page[EventRecord]) -> tuple[int, int] | None:
    return (page.rows[-1].at, page.rows[-1].ordinal) if page.rows else None


def _impact_lines(scope: Scope, run: RunRecord, first: int) -> list[str]:
    fleet_id, at = run.fleet_id, run.as_of
    impacts = list_impacts(scope, fleet_id, at, run.id, None, first).rows
    paths = impact_paths(scope, fleet_id, at, [(run.id, each.ordinal) for each in impacts], _PATH)
    nodes = load_known(scope, fleet_id, at, {node for path in paths.values() for node in path})
    lines = []
    for impact in impacts:
        path = [nodes[node].key or f"id:{node}" for node in paths[run.id, impact.ordinal]]
        path += ["…"] if impact.depth >= _PATH else []
        change = f"{impact.before.name} -> {impact.after.name}"
        lines.append(f"{impact.kind.name:10} {change:40} {' > '.join(path)}")
    return lines
