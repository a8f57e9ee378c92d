"""CPU time of answers over HTTP, against other servers and against bare SQL."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from sqlite3 import Connection, connect
from time import process_time

from benchmarks.graphs import FLEET, TENANT, layered, plant
from benchmarks.measure import Row, compare, interleaved
from benchmarks.processes import ROOT, Server, ours, peer, running, yoga
from benchmarks.sizes import Sizes

OURS, MEMORY, STOCK, YOGA = "from SQLite", "from memory", "stock Strawberry", "graphql-yoga"
_PACKAGES = "tests/node/node_modules"
ROOTS = 100
DEPENDENTS = 20

_SMALLEST = "{ __typename }"
_NODES = """{ nodes(fleetId: 1, first: %d) { nodes {
    id key kind validity projectedValidity confidence pinned payload validFrom versionId
} } }"""
_DEPENDENTS = """{ nodes(fleetId: 1, first: %d) { nodes { id key validity
    dependents(maxDepth: 2, first: %d) { nodes { depth node { id key validity } } }
} } }"""
_BARE = """
WITH RECURSIVE root(id) AS (
    SELECT id FROM node WHERE tenant_id = :tenant AND fleet_id = :fleet ORDER BY id LIMIT :roots
), reached(root, id, depth) AS (
    SELECT id, id, 0 FROM root
    UNION
    SELECT reached.root, edge.target_id, reached.depth + 1
    FROM reached JOIN edge ON edge.source_id = reached.id WHERE reached.depth < 2
)
SELECT reached.root, reached.id, min(reached.depth), node.key, node_state.validity
FROM reached JOIN node ON node.id = reached.id JOIN node_state ON node_state.id = reached.id
GROUP BY reached.root, reached.id ORDER BY 1, 3, 2
"""


def answers(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """A page of nodes and the smallest answer, against others; a walk, against bare SQL."""
    database = plant(folder / "answers.db", layered(sizes.answered, sizes.depth))
    commands = {
        OURS: ours(database),
        MEMORY: peer("memory", sizes.answered),
        STOCK: peer("stock", sizes.answered),
    }
    if shutil.which("node") and (ROOT / _PACKAGES).is_dir():
        commands[YOGA] = yoga(sizes.answered)
    else:
        print(f"skipped: {YOGA} needs Node, and `make {_PACKAGES}/.package-lock.json`")
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(running(command)) for name, command in commands.items()
        }
        yield from _against_peers(servers, sizes)
        yield _against_sql(servers[OURS], database, sizes)


def _against_peers(servers: Mapping[str, Server], sizes: Sizes) -> Iterator[Row]:
    page = _NODES % sizes.answered
    _expect_nodes(servers, page, sizes.answered)
    seconds = _measure(servers, page, sizes.rounds, sizes.requests)
    what = f"CPU of {sizes.answered:,} nodes × 10 fields over HTTP"
    if YOGA in servers:
        yield compare(f"{what}, {MEMORY}, against {YOGA}", 0.9, seconds, MEMORY, YOGA)
        yield compare(f"{what}, {OURS}, against {YOGA} from memory", None, seconds, OURS, YOGA)
        yield compare(f"{what}, {STOCK} against {YOGA}", None, seconds, STOCK, YOGA)
    yield compare(f"{what}, {OURS}, against {STOCK} from memory", None, seconds, OURS, STOCK)
    if YOGA in servers:
        few = {name: servers[name] for name in (OURS, YOGA)}
        seconds = _measure(few, _SMALLEST, sizes.rounds, 10 * sizes.requests)
        yield compare(f"CPU of `{_SMALLEST}` against {YOGA}", 1.0, seconds, OURS, YOGA)


def _measure(
    servers: Mapping[str, Server], query: str, rounds: int, requests: int
) -> dict[str, list[float]]:
    """The CPU seconds of a request to each server, by rounds; what compiles has warmed up."""
    for server in servers.values():
        server.seconds_each(query, 2 * requests)
    tasks = {
        name: partial(server.seconds_each, query, requests) for name, server in servers.items()
    }
    return interleaved(rounds, tasks)


def _expect_nodes(servers: Mapping[str, Server], query: str, count: int) -> None:
    """The servers give as many nodes, with the same fields in the same order."""
    for name, server in servers.items():
        nodes = json.loads(server.answer(query))["data"]["nodes"]["nodes"]
        if len(nodes) != count or len(nodes[0]) != 10:
            raise AssertionError(f"{name} answers something else: {nodes[:1]}")


def _against_sql(server: Server, database: Path, sizes: Sizes) -> Row:
    roots = min(ROOTS, sizes.answered)
    query, bare = _DEPENDENTS % (roots, DEPENDENTS), "bare SQL"
    over_http = "over HTTP"
    requests = max(1, sizes.requests // 10)
    with closing(connect(database)) as connection:
        seconds = interleaved(
            sizes.rounds,
            {
                over_http: partial(server.seconds_each, query, requests),
                bare: partial(_bare_each, connection, roots, requests),
            },
        )
    what = f"CPU of {roots} nodes and their dependents to depth 2, from SQLite, against bare SQL"
    return compare(what, None, seconds, over_http, bare)


def _bare_each(connection: Connection, roots: int, count: int) -> float:
    values = {"tenant": TENANT, "fleet": FLEET, "roots": roots}
    before = process_time()
    for _ in range(count):
        connection.execute(_BARE, values).fetchall()
    return (process_time() - before) / count
