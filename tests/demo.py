"""The demo as a process, and programs that speak to it as documentation tells people to."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.command import PATIENCE, environment, next_line, process

DOCUMENTED = "127.0.0.1:8000"
"""Where documentation finds the demo."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that is served at `address`; its folder has an environment with the command."""

    folder: Path
    address: str

    def found_at(self, text: str) -> str:
        """Documentation's text with this demo's address."""
        return text.replace(DOCUMENTED, self.address)

    def run(self, *command: str | Path, **more: str) -> str:
        """What a program prints, with `more` in its environment; it may not fail."""
        path = f"{self.folder / '.venv' / 'bin'}:{environment()['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment(PATH=path, **more),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        assert '"errors"' not in done.stdout, done.stdout
        assert '"message"' not in done.stdout, done.stdout
        return done.stdout


@contextmanager
def serving_demo(folder: Path, *words: str) -> Iterator[Demo]:
    """Makes a demo in the folder, and serves it; `words` go to the command."""
    command = folder / ".venv" / "bin" / "retrograph"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m retrograph.cli "$@"\n')
    command.chmod(0o755)
    with process("demo", "--port", "0", *words, cwd=folder) as server:
        next_line(server)
        found = re.search(r"http://(127\.0\.0\.1:\d+)/graphql", next_line(server))
        assert found is not None
        yield Demo(folder, found[1])
