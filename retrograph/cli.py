"""The command line: `retrograph COMMAND`.

Here is but the way in, which takes an interruption well from the start: to load the commands takes
a second.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTED = 128 + signal.SIGINT
"""The exit code of what SIGINT ended, as shells give it."""


def main() -> None:
    """Loads the commands and runs the one that the arguments name."""
    with _interruption_ends_it():
        from retrograph.cli_commands import commands  # noqa: PLC0415 (that is what takes long)
    commands()


@contextmanager
def _interruption_ends_it() -> Iterator[None]:
    """While this lasts, SIGINT ends the process at once and without a word, unless it is ignored.

    An exception would not do: where it meets a module that is being loaded, it may be swallowed.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    main()
