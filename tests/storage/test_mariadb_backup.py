"""A dump with its history, restored, is the same memory at every instant."""

from __future__ import annotations

import subprocess

from retrograph.storage.store import Store, open_store
from tests.dump import dump
from tests.missing import program as path_of
from tests.servers import PACKAGE, MariaDBServer
from tests.storage.world import FLEET, TENANT, World

DUMP = ("--single-transaction", "--routines", "--dump-history", "--order-by-primary")


def client(server: MariaDBServer, program: str, *words: str, stdin: bytes = b"") -> bytes:
    """What a client program of the server says; `words` are its options and the database."""
    command = [path_of(program, PACKAGE), "--no-defaults", f"--socket={server.folder / 'socket'}"]
    done = subprocess.run(
        [*command, "--user=root", *words], input=stdin, capture_output=True, check=True
    )
    return done.stdout


def test_a_backup_brings_back_the_past(mariadb_server: MariaDBServer, empty: str) -> None:
    restored = mariadb_server.fresh_database()
    store = open_store(mariadb_server.url(empty))
    world = World(store, seed=1, writes=12)
    saved = client(mariadb_server, "mariadb-dump", *DUMP, empty)
    keep_instants = "--init-command=SET @@system_versioning_insert_history = 1"
    client(mariadb_server, "mariadb", keep_instants, restored, stdin=saved)
    copy = open_store(mariadb_server.url(restored))
    assert dump(copy) == dump(store)
    for at in world.moments():
        assert states(copy, at) == states(store, at)
    copy.write(TENANT, FLEET, lambda _: None)
    assert copy.clock(TENANT, FLEET) > store.clock(TENANT, FLEET)
    for each in (store, copy):
        each.close()


def states(store: Store, at: int) -> list[int]:
    with store.read(TENANT, FLEET, at) as snapshot:
        graph = store._profile.load_graph(snapshot)
    return [*graph.structure.ids.tolist(), *graph.validity.tolist(), *graph.projected.tolist()]
