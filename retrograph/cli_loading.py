"""Loads what a command needs: it takes longest of all that a short one does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTED = 128 + signal.SIGINT
"""The exit code of what SIGINT ended, as shells give it."""


@contextmanager
def interruption_ends_it() -> Iterator[None]:
    """While this lasts, SIGINT ends the process at once and without a word, unless it is ignored.

    An exception would not do: where it meets a module that is being loaded, it may be swallowed.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()  # only there are handlers set
    if main and before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
