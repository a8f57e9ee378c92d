"""A webhook gets each batch signed, and has taken it only when it says so in time."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from retrograph.rules.stream_errors import DeliveryFailed
from retrograph.schema.webhook import MAX_ANSWER, SIGNATURE, Webhook
from retrograph.storage.relays import Batch
from tests.schema.serving import PATIENCE
from tests.servers import free_port

SECRET = b"s" * 32
BATCH = Batch(1, 2, [(5, 0), (7, 3)], [b'{"cursor":"5-0"}', b'{"cursor":"7-3"}'])

Answer = Callable[[BaseHTTPRequestHandler], None]
Seen = list[tuple[str, dict[str, str], bytes]]


@contextmanager
def receiving(
    answer: Answer, port: int = 0, secure: ssl.SSLContext | None = None
) -> Iterator[tuple[str, Seen]]:
    """A server of our own, its URL, and the requests that it has seen."""
    seen: Seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.append((self.path, dict(self.headers.items()), body))
            answer(self)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if secure is not None:
        server.socket = secure.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        scheme = "http" if secure is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def status(code: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def test_a_batch_is_posted_with_a_signature_that_its_receiver_can_check() -> None:
    with receiving(status(204)) as (url, seen):
        Webhook(f"{url}/hook?a=b", SECRET, clock=lambda: 1_700_000_000_000_000).deliver(BATCH)
    ((path, headers, body),) = seen
    assert path == "/hook?a=b"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {
        "tenantId": "1",
        "fleetId": "2",
        "first": "5-0",
        "last": "7-3",
        "events": [{"cursor": "5-0"}, {"cursor": "7-3"}],
    }
    expected = hmac.new(SECRET, b"1700000000." + body, hashlib.sha256).hexdigest()
    assert headers[SIGNATURE] == f"t=1700000000,v1={expected}"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(500), "it answered 500"),
        (status(301, location="http://127.0.0.1/elsewhere"), "it answered 301"),
        (status(404, b"nothing here"), "it answered 404"),
        (status(200, b"x" * (MAX_ANSWER + 1)), "more than 65,536 bytes"),
        (lambda handler: handler.wfile.write(b"no http\r\n\r\n"), "its answer is no HTTP"),
        (lambda handler: handler.connection.close(), "without an answer"),
    ],
)
def test_whatever_is_no_acknowledgement_is_a_typed_failure(answer: Answer, reason: str) -> None:
    with receiving(answer) as (url, seen), pytest.raises(DeliveryFailed, match=reason) as failed:
        Webhook(url, SECRET).deliver(BATCH)
    assert failed.value.code == "DELIVERY_FAILED"
    assert len(seen) == 1


def test_a_server_that_is_away_is_one_too() -> None:
    with pytest.raises(DeliveryFailed, match=r": the connection is refused\. They"):
        Webhook(f"http://127.0.0.1:{free_port()}", SECRET).deliver(BATCH)


def test_a_server_that_speaks_no_tls_is_told_from_one_that_is_away() -> None:
    with receiving(status(200)) as (url, seen):
        with pytest.raises(DeliveryFailed, match=": TLS fails: "):
            Webhook(url.replace("http:", "https:"), SECRET).deliver(BATCH)
        assert seen == []


@pytest.mark.parametrize("dripping", [False, True])
def test_a_server_that_hangs_is_left(dripping: bool) -> None:
    """Though each single byte of its answer comes soon."""
    over = Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        try:
            while not over.wait(0.02 if dripping else None):
                handler.wfile.write(b"H")
                handler.wfile.flush()
        except OSError:
            pass

    with receiving(hang) as (url, _):
        try:
            with pytest.raises(DeliveryFailed, match=r"within 0\.2 s"):
                Webhook(url, SECRET, seconds=0.2).deliver(BATCH)
        finally:
            over.set()


def test_a_server_that_is_slow_to_shake_hands_is_left() -> None:
    """Though each single byte comes soon: the peer sees that it was cut off."""
    cut = Event()

    def drip() -> None:
        peer, _ = listener.accept()
        with peer, suppress(ConnectionError):
            peer.sendall(b"\x16\x03\x03\x40\x00")  # a record of TLS with 16 KiB to come
            for _ in range(500):
                peer.sendall(b"\x02")
                cut.wait(0.02)
            return  # too late
        cut.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = Thread(target=drip)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(DeliveryFailed, match=r"within 1 s"):
            Webhook(url, SECRET, seconds=1).deliver(BATCH)
        thread.join()
    assert cut.is_set()


def test_a_look_up_that_hangs_is_left_and_nothing_is_sent_when_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, over, look_up = Event(), Event(), socket.getaddrinfo

    def slow(*args: Any, **more: Any) -> Any:
        over.wait(PATIENCE)
        try:
            return look_up(*args, **more)
        finally:
            looked.set()

    with receiving(status(200)) as (url, seen):
        monkeypatch.setattr(socket, "getaddrinfo", slow)
        with pytest.raises(DeliveryFailed, match=r"within 0\.05 s"):
            Webhook(url, SECRET, seconds=0.05).deliver(BATCH)
        over.set()
        assert looked.wait(PATIENCE)
        monkeypatch.undo()
        Webhook(url, SECRET).deliver(BATCH)
        assert len(seen) == 1


def test_a_host_that_is_none_is_a_failure_too() -> None:
    for host in ("nowhere.invalid", f"{'x' * 64}.example"):
        with pytest.raises(DeliveryFailed, match="its host isn't found: "):
            Webhook(f"https://{host}", SECRET).deliver(BATCH)


def test_https_is_for_whom_the_certificate_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_bytes(self_signed("127.0.0.1"))
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate)
    with receiving(status(204), secure=secure) as (url, seen):
        with pytest.raises(DeliveryFailed, match="certificate"):
            Webhook(url, SECRET).deliver(BATCH)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        Webhook(url, SECRET).deliver(BATCH)
        with pytest.raises(DeliveryFailed, match="localhost"):
            Webhook(url.replace("127.0.0.1", "localhost"), SECRET).deliver(BATCH)
    assert len(seen) == 1


def self_signed(address: str) -> bytes:
    """A key and its certificate for an address, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now, names = (
        datetime.now(UTC),
        x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]),
    )
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return plain + certificate.public_bytes(serialization.Encoding.PEM)


def test_it_cannot_be_asked_what_it_has() -> None:
    webhook = Webhook("http://127.0.0.1", SECRET)
    assert (webhook.forgot(), webhook.last(1, 1)) == (False, None)


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_ipv6_address_without_a_port_is_asked_at_that_of_its_scheme(
    scheme: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(host: str, port: int, end: float) -> socket.socket:
        asked.append((host, port))
        raise ConnectionRefusedError

    monkeypatch.setattr("retrograph.schema.webhook._connected", refuse)
    with pytest.raises(DeliveryFailed, match="refused"):
        Webhook(f"{scheme}://[::1]/", SECRET).deliver(BATCH)
    assert asked == [("::1", port)]
