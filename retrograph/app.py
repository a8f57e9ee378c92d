"""The ASGI application: the schema over HTTP and WebSockets, and the health of the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from retrograph.metrics import CONTENT_TYPE, Metrics, Streams
from retrograph.relaying import Relaying
from retrograph.resolvers.retention import RetentionRule
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.sweep import Sweeper
from retrograph.resolvers.write_uses import write_uses
from retrograph.rules.errors import StorageError
from retrograph.rules.upcasting import NO_UPCASTERS, Upcasters
from retrograph.schema.bell import Bell
from retrograph.schema.context import Caller
from retrograph.schema.failure_guard import refuse_route
from retrograph.schema.feeds import Feeds
from retrograph.schema.http import HttpEndpoint
from retrograph.schema.ide import page_routes, with_page
from retrograph.schema.identity import FindCaller, Identify, Identity, find_token
from retrograph.schema.middleware import DEFAULT_HTTP, HttpOptions, make_middleware
from retrograph.schema.open_streams import OpenStreams
from retrograph.schema.protection import DEFAULT_PROTECTION, Protection
from retrograph.schema.refusals import Refused, error_response, json_response
from retrograph.schema.schema import make_schema
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS, StreamLimits
from retrograph.schema.websocket import SocketEndpoint
from retrograph.settings import is_loopback
from retrograph.storage.nudges import Nudges
from retrograph.storage.store import Store

WORKERS = 16
"""Threads that wait for storage; more requests queue."""
POLL_SECONDS = 0.25
"""How often it is asked whether another process has committed."""
USE_SECONDS = 10
"""How often it is written down which episodes were used."""

P = ParamSpec("P")
T = TypeVar("T")
Sweeping = tuple[float | None, RetentionRule | None, int | None]
"""How often what time brings is done, in seconds (None: never), which checkpoints go, and how often
episodes are compacted.
"""

_log = logging.getLogger(__name__)


def create_app(  # noqa: PLR0913 (what an application is put together of)
    store: Store,
    *,
    tenant_id: int = 1,
    loopback_only: bool = True,
    identify: Identify | None = None,
    http: HttpOptions = DEFAULT_HTTP,
    stream_limits: StreamLimits = DEFAULT_STREAM_LIMITS,
    protection: Protection = DEFAULT_PROTECTION,
    sweep_seconds: float | None = None,
    compact_seconds: int | None = None,
    upcasters: Upcasters = NO_UPCASTERS,
    redis: str | None = None,
    retention: RetentionRule | None = None,
    relaying: Relaying | None = None,
) -> Starlette:
    """The application over an open store, which stays the caller's to close.

    `identify` tells whom a token stands for. Without it whoever asks acts for the tenant, on every
    fleet, in every role: keep it to this machine. With `loopback_only` it answers only to the
    machine's own names, and sockets only to its own pages and those of the origins in `http`.
    `protection` limits operations. Every `sweep_seconds` (None: never) it does what time brings, by
    `retention` and `compact_seconds`. `upcasters` renew payloads. `redis` tells of others' commits,
    else it polls; `relaying` relays events.
    """
    schema, trusted = make_schema(), is_loopback if loopback_only else _nobody
    streams = OpenStreams(stream_limits.streams)
    sweeping = (sweep_seconds, retention, compact_seconds)
    find_caller = _caller_finder(store, tenant_id, identify, protection, streams, upcasters)
    endpoint = HttpEndpoint(schema, find_caller, http.receive_seconds, stream_limits)
    sockets = SocketEndpoint(schema, find_caller, trusted, stream_limits, http.cors_origins)
    app = Starlette(
        routes=_of_callers(endpoint, sockets, page=http.graphiql) + _of_monitors(store, tenant_id),
        middleware=make_middleware(http, trusted if loopback_only else None),
        exception_handlers={HTTPException: refuse_route},
        lifespan=lambda app: _lifespan(app, store, stream_limits, sweeping, redis, relaying),
    )
    app.state.sockets, app.state.streams, app.state.relaying = sockets, streams, relaying
    app.router.redirect_slashes = False  # routes are exact: a redirected POST loses its body
    return app


def _caller_finder(
    store: Store,
    tenant_id: int,
    identify: Identify | None,
    protection: Protection,
    streams: OpenStreams,
    upcasters: Upcasters,
) -> FindCaller:
    most = protection.checkpoint_bytes
    everybody = Identity(tenant_id, fleet_ids=None, roles=frozenset(Role))

    async def find_caller(
        connection: HTTPConnection, init_payload: Mapping[str, Any] | None = None
    ) -> Caller:
        found = await identify(find_token(connection, init_payload)) if identify else everybody
        scope = Scope(store, found.tenant_id, found.fleet_ids, found.roles, upcasters, most)
        state = connection.app.state
        serving = scope, state.workers, state.bell
        proof = found.expires_at, store.now
        return Caller(*serving, *proof, protection, found.subject, streams, state.feeds)

    return find_caller


def _of_callers(endpoint: HttpEndpoint, sockets: SocketEndpoint, *, page: bool) -> list[BaseRoute]:
    answer = with_page(endpoint.answer) if page else endpoint.answer
    return [
        Route("/graphql", answer, methods=["GET", "POST"]),
        WebSocketRoute("/graphql", sockets),
        *(page_routes() if page else ()),
    ]


def _of_monitors(store: Store, tenant_id: int) -> list[BaseRoute]:
    async def live(_: Request) -> Response:
        return json_response({"status": "live"})

    async def ready(request: Request) -> Response:
        try:
            await _in_worker(request.app, store.fleet_ids, tenant_id)
        except StorageError as error:
            return error_response(Refused(503, error.message, error.code))
        return json_response({"status": "ready"})

    return [Route("/health/live", live), Route("/health/ready", ready), _metrics(store)]


def _metrics(store: Store) -> Route:
    kept = Metrics(store)

    async def metrics(request: Request) -> Response:
        state = request.app.state
        streams = Streams(
            subscriptions=state.streams.count("subscriptions"),
            feeds=len(state.feeds),
            followers=state.feeds.followers,
            told=state.feeds.told,
        )
        try:
            told = await _in_worker(request.app, kept.exposition, streams)
        except StorageError as error:
            return error_response(Refused(503, error.message, error.code))
        return Response(told, headers={"content-type": CONTENT_TYPE})

    return Route("/metrics", metrics)


@asynccontextmanager
async def _lifespan(
    app: Starlette,
    store: Store,
    limits: StreamLimits,
    sweeping: Sweeping,
    redis: str | None,
    relaying: Relaying | None,
) -> AsyncIterator[None]:
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="retrograph-worker")
    app.state.workers, app.state.bell = workers, Bell(store.listen)
    app.state.feeds = Feeds(make_schema().stream, app.state.bell, limits.lag)
    chores = [asyncio.create_task(_poll(app, store)), asyncio.create_task(_keep(app, store))]
    seconds, rule, between = sweeping
    if seconds is not None:
        chores.append(asyncio.create_task(_sweep(app, Sweeper(store, rule, between), seconds)))
    try:
        async with _relayed(store, relaying), _nudged(app, store, redis):
            yield
    finally:
        await drain(app)
        for chore in chores:
            chore.cancel()
        await asyncio.gather(*chores, return_exceptions=True)
        await _write_uses(app, store)
        await asyncio.to_thread(workers.shutdown)


@asynccontextmanager
async def _nudged(app: Starlette, store: Store, redis: str | None) -> AsyncIterator[None]:
    """Rings for the commits of other processes as soon as they tell, and tells them of ours."""
    if redis is None:
        yield
        return
    bell: Bell = app.state.bell
    relaying: Relaying | None = app.state.relaying

    def heard(tenant_id: int, fleet_id: int) -> None:
        bell.ring(tenant_id, fleet_id, 0)
        if relaying is not None:
            relaying.wake()

    nudges = Nudges(redis, heard)
    app.state.nudges, unlisten = nudges, store.listen(nudges.tell)
    try:
        yield
    finally:
        unlisten()
        await asyncio.to_thread(nudges.close)


@asynccontextmanager
async def _relayed(store: Store, relaying: Relaying | None) -> AsyncIterator[None]:
    """Relays in a thread of its own, woken by commits."""
    if relaying is None:
        yield
        return
    unlisten = store.listen(relaying.wake)
    thread = Thread(target=relaying.run, name="retrograph-relay")
    thread.start()
    try:
        yield
    finally:
        unlisten()
        relaying.close()
        await asyncio.to_thread(thread.join)


async def drain(app: Starlette) -> None:
    """Ends every stream: each subscription is completed, each socket closed when all of its are.

    A server that stops calls it while clients can still be told.
    """
    app.state.bell.close()
    await app.state.sockets.drain()


async def _poll(app: Starlette, store: Store) -> None:
    """Rings for the commits of other processes; those of this one ring by themselves.

    Ends what callers listen to whose proof has expired.
    """
    while True:
        await asyncio.sleep(POLL_SECONDS)
        app.state.bell.expire(store.now())
        app.state.sockets.expire()
        relaying: Relaying | None = app.state.relaying
        if app.state.bell.heard or relaying is not None:
            try:
                news = await _in_worker(app, store.poll)
            except StorageError:
                _log.exception("asking for the commits of other processes failed; asking again")
                news = False
            if news:
                app.state.bell.ring_all()
                if relaying is not None:
                    relaying.wake()


async def _keep(app: Starlette, store: Store) -> None:
    """Writes down what was used, now and then."""
    while True:
        await asyncio.sleep(USE_SECONDS)
        await _write_uses(app, store)


async def _write_uses(app: Starlette, store: Store) -> None:
    try:
        await _in_worker(app, write_uses, store)
    except StorageError:
        _log.exception("writing down what was used failed; trying again")


async def _sweep(app: Starlette, sweeper: Sweeper, seconds: float) -> None:
    """Sweeps, if no other process does; what goes wrong is tried again at the next turn."""
    try:
        while True:
            try:
                await _in_worker(app, sweeper.step)
            except StorageError:
                _log.exception("sweeping failed; trying again")
            await asyncio.sleep(seconds)
    finally:
        with suppress(StorageError):
            await _in_worker(app, sweeper.resign)


async def _in_worker(app: Starlette, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    call = partial(work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(app.state.workers, call)


def _nobody(_: str) -> bool:
    return False
