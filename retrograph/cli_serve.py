"""Commands that answer over the network: `serve` and `demo`."""

from __future__ import annotations

import errno
import gc
import shlex
import signal
import socket
import sys
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import click

from retrograph.app import create_app
from retrograph.authentication import make_identify, make_secret, make_token, with_own_secret
from retrograph.cli_demo_judge import judging
from retrograph.cli_log import configure_logging
from retrograph.cli_options import database_file, open_scope, retention_rule, takes_settings
from retrograph.cli_relay import redis_relaying
from retrograph.resolvers.demo import CORRECTION, FLEET, fill_with_demo, make_demo
from retrograph.resolvers.runs import list_runs
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import ConfigurationError
from retrograph.rules.instant import SECOND, format_instant
from retrograph.schema.identity import Identify, Identity
from retrograph.schema.middleware import HttpOptions
from retrograph.schema.persisted import load_documents
from retrograph.schema.protection import Protection
from retrograph.schema.stream_limits import StreamLimits
from retrograph.server import Server
from retrograph.settings import Settings, check_exposure, trace_exporter
from retrograph.storage.clock import system_clock
from retrograph.storage.filters import RunFilter
from retrograph.telemetry import traced

GC_THRESHOLDS = (50_000, 50, 100)
"""New objects until the youngest are collected, and how many times until the older ones are."""

SERVING = (
    *("database", "host", "port", "tenant", "auth", "jwt_secret", "jwt_secret_file"),
    *("jwt_issuer", "jwt_audience", "jwt_leeway"),
    *("cors_origins", "receive_timeout", "log_level", "graphiql"),
    *("keep_alive", "socket_operations", "caller_streams"),
    *(
        "max_cost",
        "operation_timeout",
        "introspection",
        "persisted_documents",
        "sweep_every",
        "compact_every",
    ),
    *("redis", "redis_streams", "redis_stream_length"),
    *("upcasters", "checkpoint_bytes", "keep_checkpoints", "keep_checkpoints_days"),
    *("tokens", "recall_memory"),
)
"""The settings of whatever serves."""

DEMO_TOKEN_LIFE = 7 * 86_400 * SECOND
"""How long the token counts that the demo prints, in microseconds."""

_QUERIES = {
    "What does not hold any more, and why": """
        { nodes(fleetId: 1, filter: {validity: [DEFINITELY_STALE, INVALID]}) {
          edges { node { key validity staleness { run { reason } path { key } } } } } }""",
    "Who judged what, and why": """
        { decisions(fleetId: 1) { nodes { at kind node { key } note by } } }""",
    "What the agent believed just before the tariff was corrected": """
        { node(fleetId: 1, by: {key: "decision:9001"}, asOf: "$before") {
          validity payload confidence asOf } }""",
    "What would fall with the contract of the metering API": """
        { previewInvalidation(fleetId: 1, root: {key: "contract:metering/v2"}) {
          impactCount impacts(first: 5) { edges { node { to depth node { key } } } } } }""",
}


@click.command("serve")
@takes_settings(*SERVING, "jwks")
def serve(settings: Settings) -> None:
    """Serve GraphQL at /graphql, over HTTP and WebSockets."""
    check_exposure(settings)
    identify, protection = make_identify(settings), _protection(settings)
    with (
        _traced(settings),
        _listener(settings) as listener,
        open_scope(settings, make=True) as scope,
    ):
        click.echo(f"Serving {settings.told_database} at {_url(settings, listener)}")
        _run(scope, settings, listener, identify, protection)


@click.command("demo")
@click.option("--serve/--no-serve", "serving", default=True, help="Serve it, or only make it.")
@click.option("--judge/--no-judge", "judged", default=True, help="Judge by rules what is stale.")
@takes_settings(*SERVING, defaults=Settings(database="retrograph-demo.db", auth="token"))
def demo(settings: Settings, serving: bool, judged: bool) -> None:
    """Make the demo, a fleet with a week of history, if it is not there; then serve it.

    While it is served, simple rules judge what is stale: a line for each judgement.
    """
    settings = with_own_secret(settings, _beside(settings))
    check_exposure(settings)
    if not serving:
        _make_missing(settings)
        return
    with _traced(settings), _listener(settings) as listener:
        make_secret(settings)
        identify, protection = make_identify(settings), _protection(settings)
        _make_missing(settings)
        with open_scope(settings, make=True) as scope:
            _introduce(scope, settings, _url(settings, listener), judged=judged)
            with judging(scope) if judged else nullcontext():
                _run(scope, settings, listener, identify, protection)


def _make_missing(settings: Settings) -> None:
    file, made = database_file(settings), False
    if file is None:
        made = fill_with_demo(settings.database, system_clock(), settings.tenant)
    elif not file.exists():
        make_demo(file, system_clock(), settings.tenant)
        made = True
    if made:
        click.echo(f"Made {settings.told_database}: fleet {FLEET} and its last seven days.")


def _beside(settings: Settings) -> Path | None:
    """Where the demo keeps its secret; None where the database is no file."""
    file = database_file(settings)
    return None if file is None else file.with_name(file.name + ".secret")


def _introduce(scope: Scope, settings: Settings, url: str, *, judged: bool) -> None:
    click.echo(f"Serving {settings.told_database} at {url}  (Ctrl-C ends it)\n")
    before = format_instant(_before_correction(scope))
    click.echo("Ask it from another terminal:")
    proof = fragment = ""
    if settings.auth == "token":
        until = system_clock() + DEMO_TOKEN_LIFE
        token = make_token(settings, Identity(settings.tenant, None, frozenset(Role), until))
        click.echo(f"\ntoken={token}")
        proof, fragment = '-H "authorization: Bearer $token" ', f"#token={token}"
    for title, query in _QUERIES.items():
        asked = " ".join(query.replace("$before", before).split())
        click.echo(f"\n# {title}\ncurl -sG {url} {proof}--data-urlencode 'query={asked}'")
    if not judged:
        click.echo(f"\n# Let simple rules judge what is stale\n{_judge_command(settings)}")
    if settings.graphiql == "on":
        click.echo(f"\nOr open it in a browser:\n{url}{fragment}")
    if judged:
        click.echo("\nSimple rules judge what is stale, dependencies first:")


def _judge_command(settings: Settings) -> str:
    """The command that heals the demo; its own judge stands beside it."""
    program = shlex.quote(sys.argv[0])
    judge = shlex.quote(f"{program} demo-judge")
    database = shlex.quote(settings.told_database)
    return f"{program} worker --once --exec {judge} --database {database}"


def _before_correction(scope: Scope) -> int:
    """The last microsecond of the old tariff; in another database, the last commit."""
    runs = list_runs(scope, FLEET, RunFilter(reason=CORRECTION), first=1).rows
    return runs[0].executed_at - 1 if runs else scope.clock(FLEET)


def _listener(settings: Settings) -> closing[socket.socket]:
    """A socket that listens already, so that nothing is begun which can't be served."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    place = f"{settings.host}, port {settings.port}"
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        reason = "is in use" if error.errno == errno.EADDRINUSE else f"fails: {error.strerror}"
        raise ConfigurationError(
            f"Serving at {place} {reason}; choose another with --port or --host."
        ) from error
    return closing(listener)


def _url(settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listener.getsockname()[1]}/graphql"


def _traced(settings: Settings) -> AbstractContextManager[None]:
    """Traces as its environment asks; what is missing for that goes to the log.

    Raises `ConfigurationError` before anything else is begun.
    """
    configure_logging(settings.log_level)
    return traced(trace_exporter())


def _run(
    scope: Scope,
    settings: Settings,
    listener: socket.socket,
    identify: Identify | None,
    protection: Protection,
) -> None:
    limits = StreamLimits(
        keep_alive=settings.keep_alive,
        operations=settings.socket_operations,
        streams=settings.caller_streams,
    )
    app = create_app(
        scope.store,
        tenant_id=scope.tenant_id,
        loopback_only=identify is None,
        identify=identify,
        http=HttpOptions(
            settings.cors_origins or (), settings.receive_timeout, settings.graphiql == "on"
        ),
        stream_limits=limits,
        protection=protection,
        sweep_seconds=settings.sweep_every or None,
        retention=retention_rule(settings),
        compact_seconds=settings.compact_every or None,
        upcasters=scope.upcasters,
        redis=settings.redis,
        relaying=redis_relaying(scope.store, settings),
    )
    server = Server(app, limits, receive_seconds=settings.receive_timeout, log_config=None)
    # The server ends well on this signal, then raises it anew: by then, it only ends the process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _spare_the_collector()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        click.echo("Stopped.")


def _protection(settings: Settings) -> Protection:
    place = settings.persisted_documents
    return Protection(
        max_cost=settings.max_cost,
        seconds=settings.operation_timeout,
        checkpoint_bytes=settings.checkpoint_bytes,
        introspection=settings.introspection == "on",
        documents=None if place is None else load_documents(Path(place)),
    )


def _spare_the_collector() -> None:
    """Collects garbage less often, and never looks at what lives as long as the process.

    An answer with many nodes makes objects by the hundred thousand, all of them alive until it is
    written out. By the defaults the collector walks them and the whole schema again and again,
    which takes two thirds of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
