"""HTTP on the wire where no request comes of it: what is broken, too long or too slow.

uvicorn answers such clients in plain text, or waits for them for ever.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from retrograph.schema.current_request import begun_request
from retrograph.schema.refusals import Refused, error_response
from retrograph.schema.request_log import HEADER, log_line

MAX_HEAD_BYTES = 16_384
"""Bytes of a request's first line and headers; long documents take POST."""
_SLICE = 4_096


class HttpProtocol(H11Protocol):
    """One connection; what is wrong with it is answered in JSON and logged as one line."""

    patience = 30.0
    """Seconds that the head of a request may take to arrive."""
    silence = 60.0
    """Seconds that the peer may take nothing of what waits for it."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request."""
        _prepare(transport.get_extra_info("socket"), self.silence)
        super().connection_made(transport)
        self._wait_or_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits no more."""
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes a head in slices: it is measured only where it hasn't ended yet."""
        while data and not self.transport.is_closing() and self.transport.get_protocol() is self:
            size = self._slice() if self._awaits_head else len(data)
            super().data_received(data[:size])
            data = data[size:]
        self._wait_or_rest()

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP; uvicorn calls it where the parser has raised."""
        error = sys.exception()
        hint = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        status = hint if self.conn.our_state is h11.IDLE else 400
        if status == 431:
            most = f"Send at most {MAX_HEAD_BYTES:,} bytes of URL and headers; documents by POST."
            self._refuse(Refused(status, most, "PAYLOAD_TOO_LARGE"))
        elif status == 501:
            self._refuse(Refused(status, "Send the body in plain chunks, or with its length."))
        else:
            self._refuse(Refused(status, "This is no well-formed HTTP request."))

    @property
    def _awaits_head(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _slice(self) -> int:
        """How much more of a head to take, so that one which is too long is measured as such."""
        return max(1, min(_SLICE, MAX_HEAD_BYTES - len(self.conn.trailing_data[0])))

    def _wait_or_rest(self) -> None:
        if not self._awaits_head or self.transport.get_protocol() is not self:
            self._rest()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.patience, self._give_up)

    def _rest(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if self.conn.trailing_data[0]:
            late = f"The request didn't arrive within {self.patience:g} seconds."
            self._refuse(Refused(408, late, "REQUEST_TIMEOUT"))
        else:
            self.transport.close()

    def _refuse(self, refused: Refused) -> None:
        """Says it, if nothing else was said, and closes; a request that runs is abandoned."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            with begun_request(()) as request:
                response = error_response(refused)
                response.headers.update({"connection": "close", HEADER: request.id})
                phrase = HTTPStatus(refused.status).phrase.encode()
                head = h11.Response(
                    status_code=refused.status, headers=response.raw_headers, reason=phrase
                )
                for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
                    self.transport.write(self.conn.send(event) or b"")
                log_line(status=refused.status, bytes=len(response.body), code=refused.code)
        running: RequestResponseCycle | None = self.cycle
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        self.transport.close()


def _prepare(connection: socket.socket, silence: float) -> None:
    """Lets the system drop a peer that takes nothing, and send at once what is written.

    Else what waits for the peer would keep it; and the body of an answer, which is sent after its
    head, would wait 40 ms until the peer acknowledges that.  asyncio doesn't see to it for sockets
    that name no protocol.  A connection is made as soon as the system listens, before the server
    has begun: it could not inherit this.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(silence * 1000))


def http_server_options(patience: float, silence: float) -> dict[str, Any]:
    """What uvicorn's configuration needs so that it speaks HTTP like this."""
    return {
        "http": type("HttpProtocol", (HttpProtocol,), {"patience": patience, "silence": silence}),
        "h11_max_incomplete_event_size": MAX_HEAD_BYTES,
        "server_header": False,
        "access_log": False,
    }
