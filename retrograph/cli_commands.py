"""The commands, and how they fail.

An error that the caller can act on is one line on stderr, with its code, and exit code 1; a wrong
use of the command line exits with 2, an interruption with 130.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

import click

from retrograph import __version__
from retrograph.cli_loading import interruption_ends_it
from retrograph.rules.errors import OutputFailed, RetrographError

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("cli_serve", "serve"),
    "demo": ("cli_serve", "demo"),
    "import": ("cli_data", "import_file"),
    "export": ("cli_data", "export_file"),
    "invalidate": ("cli_watch", "invalidate_node"),
    "tail": ("cli_watch", "tail"),
    "sweep": ("cli_sweep", "sweep"),
    "compact": ("cli_compact", "compact"),
    "relay": ("cli_relay", "relay"),
    "relays": ("cli_relays", "relays"),
    "worker": ("cli_worker", "worker"),
    "demo-judge": ("cli_judge", "demo_judge"),
    "checkpoints": ("cli_checkpoints", "checkpoints"),
    "migrate": ("cli_data", "migrate"),
    "sdl": ("cli_data", "print_sdl"),
    "token": ("cli_token", "print_token"),
}
"""Where the commands are: the module, and the name in it.  Only the one that runs is loaded."""


class _Failure(click.ClickException):
    """Ends a command with one line on stderr."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


class _Interruption(_Failure):
    exit_code = 128 + signal.SIGINT  # as shells give it


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        return sorted(_COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 (click's)
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        with interruption_ends_it():
            command: click.Command = getattr(import_module(f"retrograph.{module}"), name)
        return command

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _failures_told():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _failures_told():
            return super().invoke(ctx)


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except RetrographError as error:
        raise _failure(error) from error
    except OSError as error:
        if error.filename is not None:  # what has no name is the stream that we print to
            raise
        _leave_the_output()
        raise _failure(
            OutputFailed(
                f"The output can't be written: {error.strerror}. It is not complete; send it "
                "elsewhere."
            )
        ) from error
    except (KeyboardInterrupt, click.Abort) as error:
        raise _Interruption("Interrupted.") from error


def _failure(error: RetrographError) -> _Failure:
    message = " ".join(error.message.splitlines())
    return _Failure(f"error: [{error.code}] {message}")


def _leave_the_output() -> None:
    """Lets what could not be written go to nowhere, so that no later flush fails on it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="retrograph")
def commands() -> None:
    """A memory graph for agents that can be asked about any instant of its past."""
