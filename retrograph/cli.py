"""The command line: `retrograph COMMAND`.

An error that the caller can act on is one line on stderr, with its code, and exit code 1; a wrong
use of the command line exits with 2.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from retrograph import __version__
from retrograph.cli_data import export_file, import_file, migrate, print_sdl
from retrograph.cli_serve import demo, serve
from retrograph.cli_watch import invalidate_node, tail
from retrograph.rules.errors import RetrographError


class _Main(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RetrographError as error:
            message = " ".join(error.message.splitlines())
            click.echo(f"error: [{error.code}] {message}", err=True)
            ctx.exit(1)
        except BrokenPipeError:
            # Who read our output has enough; nothing more can be flushed to them.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)


@click.group(cls=_Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="retrograph")
def main() -> None:
    """A memory graph for agents that can be asked about any instant of its past."""


for _command in (
    serve,
    demo,
    import_file,
    export_file,
    invalidate_node,
    tail,
    migrate,
    print_sdl,
):
    main.add_command(_command)

if __name__ == "__main__":
    main()
