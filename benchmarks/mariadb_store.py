"""A MariaDB of our own to measure on, if there is one; commits wait for the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

from sqlalchemy import text

from benchmarks.graphs import FLEET, TENANT, Shape, plant_in
from benchmarks.own import own
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.store import Store, open_store
from retrograph.storage.write import Write
from tests.servers import MariaDBServer, running_mariadb

_OPTIONS = ("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M")


def own_mariadb() -> AbstractContextManager[MariaDBServer | None]:
    """The server, if there is one."""
    return own(running_mariadb(*_OPTIONS, durable=True))


@contextmanager
def planted(server: MariaDBServer, shape: Shape) -> Iterator[Scope]:
    """A caller's scope in a new database with the graph; its ids begin with the root's."""
    with closing(open_store(server.url(server.fresh_database()))) as store:
        plant_in(store, shape)
        analyze(store)
        yield Scope(store, TENANT, None, frozenset(Role))


def analyze(store: Store) -> None:
    """Lets the server count again, as it does by itself some time after many rows have changed."""
    tables = "node, node_state, node_content, edge"
    with store._profile.writer().connect() as connection:  # noqa: SLF001 (no caller's business)
        connection.exec_driver_sql(f"ANALYZE TABLE {tables} PERSISTENT FOR ALL").all()


def heal(store: Store) -> None:
    """Makes all nodes healthy again, by a write of its own."""
    store.write(TENANT, FLEET, lambda write: change_states(write, 1))


def change_states(write: Write, validity: int) -> None:
    """Opens a version of every state."""
    write.snapshot.connection.execute(
        text(
            "UPDATE node_state SET validity = :validity, projected = :validity, run_id = NULL, "
            "run_ordinal = NULL WHERE tenant_id = :tenant_id AND fleet_id = :fleet_id"
        ),
        {"validity": validity, "tenant_id": TENANT, "fleet_id": FLEET},
    )
    write.forget_graph()


def give_past(store: Store, versions: int) -> int:
    """Gives each node so many closed versions, and a tenth of the edges two; the middle instant."""
    middle = 0
    for number in range(versions):
        store.write(TENANT, FLEET, partial(change_states, validity=1 + 2 * (number % 2)))
        if number == versions // 2:
            middle = store.clock(TENANT, FLEET)
        if number in {0, versions - 1}:
            _relink(store)
    heal(store)
    return middle


def _relink(store: Store) -> None:
    scope = {"tenant_id": TENANT, "fleet_id": FLEET, "at": store.clock(TENANT, FLEET)}
    some = "tenant_id = :tenant_id AND fleet_id = :fleet_id AND id % 10 = 0"
    columns = "id, tenant_id, fleet_id, source_id, target_id, type"
    then = "edge FOR SYSTEM_TIME AS OF FROM_UNIXTIME(:at * 0.000001)"
    gone = text(f"DELETE FROM edge WHERE {some}")
    back = text(f"INSERT INTO edge ({columns}) SELECT {columns} FROM {then} WHERE {some}")
    store.write(TENANT, FLEET, lambda write: write.snapshot.connection.execute(gone, scope))
    store.write(TENANT, FLEET, lambda write: write.snapshot.connection.execute(back, scope))
