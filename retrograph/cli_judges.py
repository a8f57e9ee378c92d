"""Judges outside of this process: a command or a webhook that is told of a task and answers.

What is told is the JSON of `retrograph.resolvers.task_sheet`. The answer is a JSON object with
`outcome` and, where wanted, `unchanged`, `confidence`, `evidence`, `note`, `by`. Whatever else
comes is no judgement: its outcome is ERROR, with a note that says why.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from subprocess import PIPE
from threading import Thread
from time import monotonic
from typing import IO, Any

import orjson

from retrograph.resolvers.complete_revalidation import Completion, Outcome
from retrograph.rules.errors import ConfigurationError
from retrograph.rules.url import split_url
from retrograph.storage.task_records import TaskRecord

Ask = Callable[[bytes], bytes]
"""Tells of a task, and returns the answer; raises `Failed`."""

MAX_ANSWER = 1_000_000
"""Bytes of an answer."""
_TOO_LONG = f"the answer has more than {MAX_ANSWER:,} bytes"
_PART = 65_536
"""Bytes that are read of an answer at once."""
_NOTE = 500
"""Characters that are kept of what a judge complains of."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "outcome": (str,),
    "unchanged": (bool,),
    "confidence": (int, float, type(None)),
    "evidence": (list,),
    "note": (str, type(None)),
    "by": (str, type(None)),
}


class Failed(Exception):
    """No judgement was reached; the text says why."""


def command_judge(command: str, timeout: float) -> Ask:
    """Asks a program, which is told on its standard input; no shell reads the command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"--exec {command!r} can't be read: {error}.") from error
    if not words:
        raise ConfigurationError("--exec names no program.")
    return partial(_run, words, timeout)


def web_judge(url: str, timeout: float) -> Ask:
    """Asks a web server by POST."""
    try:
        split_url(url)
    except ValueError as error:
        raise ConfigurationError(f"--url {error}.") from None
    return partial(_post, url, timeout)


def judge(ask: Ask, task: TaskRecord, sheet: Mapping[str, object]) -> Completion:
    """The judgement of a task; that there is none is the outcome ERROR."""
    try:
        return _completion(task, _read(ask(orjson.dumps(sheet))))
    except Failed as failure:
        return failed(task, str(failure))


def failed(task: TaskRecord, why: str) -> Completion:
    """The outcome ERROR, for this reason."""
    note = "".join(each if each.isprintable() else " " for each in why)[-_NOTE:].strip()
    return Completion(task.id, task.lease_token or "", Outcome.ERROR, note=note or None)


def _run(words: list[str], timeout: float, told: bytes) -> bytes:
    deadline = monotonic() + timeout
    try:
        # A session of its own: what interrupts us leaves it its time to end.
        program = subprocess.Popen(  # noqa: S603 (whoever starts us says what to run)
            words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise Failed(f"{words[0]} can't be started: {error}") from error
    try:
        answer, complaint = _talk(program, told, deadline)
        program.wait(max(0, deadline - monotonic()))
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no answer within {timeout:g} seconds") from error
    finally:
        _end(program)
    if program.returncode:
        last = complaint.decode(errors="replace")[-_NOTE:]
        raise Failed(f"exit code {program.returncode}: {last}")
    return answer


def _talk(program: subprocess.Popen[bytes], told: bytes, deadline: float) -> tuple[bytes, bytes]:
    """All that a program answers, and the end of what it complains of."""
    if program.stdin is None or program.stdout is None or program.stderr is None:
        raise ValueError("a judge is talked to through pipes")
    answer = _Drain(program.stdout, MAX_ANSWER + 1, last=False)
    complaint = _Drain(program.stderr, _PART, last=True)
    threads = Thread(target=_tell, args=(program.stdin, told), daemon=True), answer, complaint
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join(max(0, deadline - monotonic()))
        if len(answer.kept) > MAX_ANSWER:
            raise Failed(_TOO_LONG)
        if thread.is_alive():
            raise subprocess.TimeoutExpired(program.args, 0)
    return answer.kept, complaint.kept


def _tell(stream: IO[bytes], told: bytes) -> None:
    """To a program that reads it or not."""
    with suppress(OSError), stream:
        stream.write(told)


class _Drain(Thread):
    """Reads a stream to its end, or until it has `most` bytes: the first ones, or the last."""

    def __init__(self, stream: IO[bytes], most: int, *, last: bool) -> None:
        super().__init__(daemon=True)
        self.kept = b""
        self._number, self._most, self._last = stream.fileno(), most, last

    def run(self) -> None:
        with suppress(OSError):
            while part := os.read(self._number, _PART):
                self.kept += part
                if self._last:
                    self.kept = self.kept[-self._most :]
                elif len(self.kept) >= self._most:
                    return


def _end(program: subprocess.Popen[bytes]) -> None:
    """Ends a program, and what it has started, if it is still running."""
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    for stream in (program.stdin, program.stdout, program.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follows none: tasks go where they were sent."""


def _post(url: str, timeout: float, told: bytes) -> bytes:
    opener = urllib.request.build_opener(_NoRedirect)
    until = monotonic() + timeout  # the socket's own limit is one for each packet
    request = urllib.request.Request(url, told, {"content-type": "application/json"})  # noqa: S310
    try:
        with opener.open(request, timeout=timeout) as response:
            if response.status != HTTPStatus.OK:
                raise Failed(f"{url}: HTTP status {response.status}, and not 200")
            return _body(response, timeout, until)
    except (OSError, HTTPException, ValueError) as error:
        raise Failed(f"{url}: {error}") from error


def _body(response: HTTPResponse, timeout: float, until: float) -> bytes:
    """What is answered, or as much of it as shows that it is too long."""
    found = bytearray()
    while len(found) <= MAX_ANSWER and (more := response.read1(_PART)):
        found += more
        if monotonic() > until:
            raise Failed(f"no answer within {timeout:g} seconds")
    return bytes(found)


def _read(answer: bytes) -> dict[str, Any]:
    if len(answer) > MAX_ANSWER:
        raise Failed(_TOO_LONG)
    try:
        found = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise Failed(f"the answer is no JSON: {answer[:100].decode(errors='replace')}") from error
    if not isinstance(found, dict) or "outcome" not in found:
        raise Failed("the answer is no JSON object with an outcome")
    for name, value in found.items():
        if name not in _TYPES:
            raise Failed(f"the answer says {name!r}, which nobody asks for")
        if not isinstance(value, _TYPES[name]):
            raise Failed(f"the answer gives {name} another type")
    if found["outcome"] not in Outcome.__members__:
        raise Failed(f"the answer's outcome is none of {', '.join(Outcome.__members__)}")
    return found


def _completion(task: TaskRecord, answer: dict[str, Any]) -> Completion:
    return Completion(
        task.id,
        task.lease_token or "",
        Outcome[answer["outcome"]],
        unchanged=answer.get("unchanged", False),
        confidence=answer.get("confidence"),
        evidence=answer.get("evidence", ()),
        note=answer.get("note"),
        by=answer.get("by"),
    )
