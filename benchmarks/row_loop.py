"""The yardstick of procedures: the same cascade by a loop in the program, a statement a row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from benchmarks.graphs import FLEET, ROOT, TENANT
from retrograph.rules.edge_type import EdgeType
from retrograph.storage.store import Store
from retrograph.storage.write import Write, take_ids

_CEILINGS = {EdgeType.REQUIRES: 3, EdgeType.DERIVED_FROM: 2, EdgeType.OBSERVED_FROM: 1}
_DEPENDENTS = (
    "SELECT e.target_id, e.type, s.projected FROM edge AS e "
    "JOIN node_state AS s ON s.id = e.target_id AND s.tenant_id = ? AND s.fleet_id = ? "
    "WHERE e.tenant_id = ? AND e.fleet_id = ? AND e.source_id = ? ORDER BY e.target_id"
)
_STATE = (
    "UPDATE node_state SET validity = ?, projected = ?, run_id = ?, run_ordinal = ? "
    "WHERE id = ? AND tenant_id = ? AND fleet_id = ?"
)
_IMPACT = (
    "INSERT INTO impact (tenant_id, fleet_id, run_id, ordinal, node_id, kind, `before`, `after`, "
    "cause, depth) VALUES (?, ?, ?, ?, ?, 1, 1, ?, ?, ?)"
)
_EVENT = (
    "INSERT INTO outbox (tenant_id, fleet_id, `at`, ordinal, type, node_id, run_id, run_ordinal) "
    "VALUES (?, ?, ?, ?, 1, ?, ?, ?)"
)


def fell_by_rows(store: Store) -> int:
    """Fells all that depends on the root of a healthy graph; returns how many nodes that were."""
    return store.write(TENANT, FLEET, _fell)


def _fell(write: Write) -> int:
    connection = write.snapshot.connection
    raised = _raise_all(connection)
    run_id = take_ids(write, "run", 1)[0]
    ordinals = {node: number for number, node in enumerate(raised)}
    for node, (severity, cause, depth) in raised.items():
        scope, ordinal, validity = (TENANT, FLEET), ordinals[node], severity + 1
        execute = connection.exec_driver_sql
        execute(_STATE, (validity, validity, run_id, ordinal, node, *scope))
        impact = (*scope, run_id, ordinal, node, validity, ordinals.get(cause), depth)
        execute(_IMPACT, impact)
        execute(_EVENT, (*scope, write.instant, ordinal, node, run_id, ordinal))
    write.forget_graph()
    return len(raised)


def _raise_all(connection: Connection) -> dict[int, tuple[int, int, int]]:
    """Severity, cause and depth by node: what can't be known but by asking node after node."""
    raised: dict[int, tuple[int, int, int]] = {ROOT: (3, 0, 0)}
    frontier = [ROOT]
    while frontier:
        risen: dict[int, tuple[int, int, int]] = {}
        for source in frontier:
            severity, _, depth = raised[source]
            for target, kind, _ in _dependents(connection, source):
                effect = min(_CEILINGS[kind], severity)
                known = max(risen.get(target, (0,))[0], raised.get(target, (0,))[0])
                if effect > known:
                    risen[target] = (effect, source, depth + 1)
        raised |= risen
        frontier = sorted(risen)
    return raised


def _dependents(connection: Connection, source: int) -> Any:
    scope = (TENANT, FLEET)
    return connection.exec_driver_sql(_DEPENDENTS, (*scope, *scope, source)).all()
