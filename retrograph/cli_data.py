"""Commands that move data: `import`, `export`, `migrate`, `sdl`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import BinaryIO

import click

from retrograph.cli_options import (
    Instant,
    database_file,
    open_scope,
    progress_bars,
    takes_settings,
)
from retrograph.cli_output import STDIO, output, standard_output
from retrograph.resolvers.export_graph import export_graph
from retrograph.resolvers.importing.graph import Imported, import_graph
from retrograph.resolvers.importing.stream import Progress
from retrograph.rules.errors import ConfigurationError
from retrograph.settings import Settings
from retrograph.storage.records import RunStatus
from retrograph.storage.store import open_store


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@takes_settings("database", "tenant", "fleet")
def import_file(settings: Settings, file: str) -> None:
    """Import a graph from FILE, JSON Lines plain or gzip; - is the standard input.

    All of it or nothing: a bad line is named, and nothing is changed. Lines that name no fleet go
    to --fleet; a fleet that is not there is made, and so is the database.
    """
    with (
        _input(file) as (source, size),
        open_scope(settings, make=True) as scope,
        progress_bars() as bars,
        _until_interrupted(bars) as tell,
    ):
        done = import_graph(scope, source, settings.fleet, size=size, progress=tell)
    click.echo(_summary(done))


@click.command("export")
@click.option("--as-of", "at", type=Instant(), metavar="INSTANT", help="The last one by default.")
@click.option(
    "-o", "--output", "file", default=STDIO, metavar="FILE", help="Gzip if it ends with .gz."
)
@takes_settings("database", "tenant", "fleet")
def export_file(settings: Settings, at: int | None, file: str) -> None:
    """Export the fleet as it was at an instant, as JSON Lines that `import` takes."""
    with open_scope(settings) as scope, progress_bars() as tell:
        lines = export_graph(scope, settings.fleet, at)
        first = next(lines, b"")  # whatever is wrong with the request shows before a file is made
        with output(file, database_file(settings)) as sink:
            sink.write(first)
            for number, line in enumerate(lines, 2):
                sink.write(line)
                if number % 10_000 == 0:
                    tell("Writing", number, None)


@click.command("migrate")
@takes_settings("database")
def migrate(settings: Settings) -> None:
    """Make the database, or bring its schema up to date."""
    store = open_store(settings.database)
    store.close()
    for line in store.done:
        click.echo(line)
    click.echo(f"{settings.told_database} is up to date.")


@click.command("sdl")
def print_sdl() -> None:
    """Print the GraphQL schema."""
    from retrograph.schema.schema import sdl  # noqa: PLC0415 (the others need no schema)

    standard_output().write(sdl().encode())


@contextmanager
def _until_interrupted(tell: Progress) -> Iterator[Progress]:
    """Stops the writing of an import, which goes on in another thread, when this one is told to."""
    interrupted = Event()

    def tell_or_stop(stage: str, done: int, total: int | None) -> None:
        if interrupted.is_set():
            raise click.Abort
        tell(stage, done, total)

    try:
        yield tell_or_stop
    except KeyboardInterrupt:
        interrupted.set()
        raise


@contextmanager
def _input(file: str) -> Iterator[tuple[BinaryIO, int | None]]:
    if file == STDIO:
        if sys.stdin is None:
            raise ConfigurationError("The standard input is closed; open it, or name a file.")
        yield sys.stdin.buffer, None
        return
    with Path(file).open("rb") as source:
        yield source, Path(file).stat().st_size or None


def _summary(done: Imported) -> str:
    loaded = done.loaded
    said = f"{loaded.nodes:,} nodes, {loaded.edges:,} edges, {loaded.evidence:,} evidence added"
    changed = loaded.nodes_changed + loaded.evidence_changed
    said += f"; {changed:,} changed" if changed else ""
    if done.runs:
        applied = [run for run in done.runs if run.status == RunStatus.APPLIED]
        impacts = sum(run.impact_count for run in applied)
        said += f"; {len(done.runs):,} runs, {len(applied):,} applied, {impacts:,} impacts"
    return f"{done.lines:,} lines: {said}."
