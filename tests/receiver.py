"""A receiver of webhooks as a process of its own, which may be told to kill itself amid a request.

`python -m tests.receiver PORT FILE WHEN NUMBER` appends the cursors of each batch to the file, one
a line, before it acknowledges the batch. At the request with that number it dies: `before` the
cursors are written down, `after`, or `amid` the answer; at 0 it never does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Receiver(HTTPServer):
    """Counts its requests."""

    requests = 0


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Takes a batch."""
        self.server.requests += 1
        file, when, number = Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
        fatal = when if self.server.requests == number else ""
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        die(fatal == "before")
        with file.open("a") as log:
            log.writelines(f"{event['cursor']}\n" for event in told["events"])
        die(fatal == "after")
        if fatal == "amid":
            self.wfile.write(b"HTTP/1.1 2")
        die(fatal == "amid")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def die(now: bool) -> None:
    if now:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with Receiver(("127.0.0.1", int(sys.argv[1])), _Handler) as server:
        print("ready", flush=True)  # noqa: T201 (whoever waits reads it)
        server.serve_forever()
