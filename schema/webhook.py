"""Events sent to a URL: batches by POST, each signed, each acknowledged by an answer of 2xx.

The signature is in `Retrograph-Signature`: `t=<seconds>,v1=<hex>`, the HMAC-SHA-256 of the secret
over `<seconds>.<body>`. Whoever checks it and the time knows who sent the body, and that it is new.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread, Timer
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from retrograph import __version__, tracing
from retrograph.rules.cursor import encode_event_cursor
from retrograph.rules.instant import SECOND
from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.storage.clock import Clock, system_clock
from retrograph.storage.relays import Batch, Position

SECONDS = 10.0
"""How long a delivery may take, from looking up the host to the last byte of its answer."""
MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read at most; more is refused as no acknowledgement."""
SIGNATURE = "Retrograph-Signature"


class Webhook:
    """Posts to a URL, which the settings have checked, and never follows it elsewhere."""

    def __init__(
        self, url: str, secret: bytes, seconds: float = SECONDS, clock: Clock = system_clock
    ) -> None:
        self._url = url
        self._secret = secret
        self._seconds = seconds
        self._clock = clock

    def forgot(self) -> bool:
        """Never: what was acknowledged is the receiver's."""
        return False

    def last(self, tenant_id: int, fleet_id: int) -> Position | None:
        """Nobody can be asked."""
        return None

    def deliver(self, batch: Batch) -> None:
        """Posts a batch; raises `DeliveryFailed` for whatever is no answer of 2xx in time."""
        with tracing.span("POST", "CLIENT", http__request__method="POST") as span:
            status = self._post(_body(batch))
            span.tell(http__response__status_code=status)
            if not 200 <= status < 300:
                raise _failed(f"it answered {status}")

    def _post(self, body: bytes) -> int:
        end = monotonic() + self._seconds
        try:
            with _connection(self._url, end) as connection:
                parts = urlsplit(self._url)
                place = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
                connection.request("POST", place, body, self._headers(body))
                answer = connection.getresponse()
                if len(answer.read(MAX_ANSWER + 1)) > MAX_ANSWER:
                    raise _failed(f"it answered with more than {MAX_ANSWER:,} bytes")
                return answer.status
        except (OSError, http.client.HTTPException) as error:
            late = isinstance(error, TimeoutError) or monotonic() >= end  # then it was cut
            told = f"no answer comes within {self._seconds:g} s" if late else _told(error)
            raise _failed(told) from error

    def _headers(self, body: bytes) -> dict[str, str]:
        return {
            "content-type": "application/json",
            "user-agent": f"retrograph/{__version__}",
            SIGNATURE: sign(self._secret, self._clock() // SECOND, body),
        } | tracing.passed_on()


def sign(secret: bytes, seconds: int, body: bytes) -> str:
    """The signature of a body that is sent at an instant."""
    digest = hmac.new(secret, b"%d." % seconds + body, hashlib.sha256)
    return f"t={seconds},v1={digest.hexdigest()}"


def _body(batch: Batch) -> bytes:
    first, last = (encode_event_cursor(*batch.positions[place]) for place in (0, -1))
    return b'{"tenantId":"%d","fleetId":"%d","first":"%b","last":"%b","events":[%b]}' % (
        batch.tenant_id,
        batch.fleet_id,
        first.encode(),
        last.encode(),
        b",".join(batch.objects),
    )


@contextmanager
def _connection(url: str, end: float) -> Iterator[http.client.HTTPConnection]:
    """A connection that is cut at an end, however slowly it is made or answers."""
    parts, secure = urlsplit(url), None
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        secure = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, parts.port or 443, context=secure)
    else:
        connection = http.client.HTTPConnection(host, parts.port or 80)
    found = _connected(host, connection.port, end)
    cutter = Timer(end - monotonic(), _cut, (connection,))
    cutter.daemon = True
    try:
        connection.sock = found
        if secure is not None:
            connection.sock = secure.wrap_socket(
                found, server_hostname=host, do_handshake_on_connect=False
            )
        cutter.start()
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        yield connection
    finally:
        cutter.cancel()
        connection.close()


def _connected(host: str, port: int, end: float) -> socket.socket:
    """A socket to the first address of a host that answers; raises `OSError`, from `end` on too."""
    failure: OSError | None = None
    for family, kind, protocol, _, address in _addresses(host, port, end):
        found = socket.socket(family, kind, protocol)
        try:
            found.settimeout(_left(end))
            found.connect(address)
            found.settimeout(_left(end))
            return found
        except OSError as error:
            found.close()
            failure = error
    raise failure or TimeoutError("the host has no address")


def _addresses(host: str, port: int, end: float) -> list[tuple[Any, ...]]:
    """Where a host is; looked up in a thread, since nothing else ends a look-up in time."""
    found: Future[list[tuple[Any, ...]]] = Future()

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    Thread(target=look_up, name="retrograph-look-up", daemon=True).start()
    try:
        return found.result(_left(end))
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "no host can have that name") from error


def _left(end: float) -> float:
    """The seconds until an end; raises `TimeoutError` when it has come."""
    left = end - monotonic()
    if left <= 0:
        raise TimeoutError("its time is over")
    return left


def _cut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _told(error: OSError | http.client.HTTPException) -> str:
    """What went wrong on the way to an answer."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    match error:
        case socket.gaierror():
            told = f"its host isn't found: {reason}"
        case ConnectionRefusedError():
            told = "the connection is refused"
        case ssl.SSLCertVerificationError():
            told = f"its certificate isn't accepted: {error.verify_message}"
        case ssl.SSLError():
            told = f"TLS fails: {reason}"
        case http.client.RemoteDisconnected():
            told = "it closes the connection without an answer"
        case http.client.HTTPException():
            told = f"its answer is no HTTP: {reason}"
        case _:
            told = f"the connection fails: {reason}"
    return told


def _failed(reason: str) -> DeliveryFailed:
    return DeliveryFailed(f"The webhook doesn't take the events: {reason}. They are sent again.")
