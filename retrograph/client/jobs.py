"""The main jobs as operations: `client.run(node(1, "decision:9001"))`.

Each raises what `retrograph.client.errors` names. Nodes are named by key (`str`) or id (`int`).
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from retrograph.client import documents
from retrograph.client.errors import done
from retrograph.client.operation import Operation
from retrograph.client.values import (
    EdgeType,
    Impact,
    Linked,
    Node,
    NodeInput,
    NodeKind,
    NodeName,
    Nodes,
    Preview,
    Put,
    Reverted,
    Run,
    Validity,
    to_datetime,
    to_instant,
    to_ref,
)
from retrograph.rules.cursor import encode_event_cursor
from retrograph.rules.instant import parse_instant
from retrograph.rules.limits import MAX_ID


def node(
    fleet: int, name: NodeName, *, as_of: datetime | str | None = None
) -> Operation[Node | None]:
    """A node now or as of an instant; None if there was none."""

    def read(data: dict[str, Any]) -> Node | None:
        return data["node"] and Node.of(data["node"])

    variables = {"fleet": str(fleet), "by": to_ref(name), "asOf": to_instant(as_of)}
    return Operation(documents.NODE, variables, read, repeatable=True)


def nodes(
    fleet: int,
    *,
    validity: Collection[Validity] | None = None,
    kind: NodeKind | None = None,
    key_prefix: str | None = None,
    pinned: bool | None = None,
    as_of: datetime | str | None = None,
    first: int = 100,
    after: str | None = None,
) -> Operation[Nodes]:
    """A page of nodes by id, behind the cursor `after`: all that is given must hold."""

    def read(data: dict[str, Any]) -> Nodes:
        page, info = data["nodes"], data["nodes"]["pageInfo"]
        rows = tuple(map(Node.of, page["nodes"]))
        return Nodes(rows, to_datetime(page["asOf"]), info["hasNextPage"], info["endCursor"])

    given = {"kind": kind, "keyPrefix": key_prefix, "pinned": pinned}
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if validity is not None:
        wanted["validity"] = list(validity)
    variables = {"fleet": str(fleet), "filter": wanted, "first": first, "after": after}
    return Operation(
        documents.NODES, variables | {"asOf": to_instant(as_of)}, read, repeatable=True
    )


def preview(
    fleet: int,
    root: NodeName,
    *,
    effect: Validity = "INVALID",
    as_of: datetime | str | None = None,
    first: int = 100,
) -> Operation[Preview]:
    """What would fall with a node; nothing is written. `first` impacts are told."""

    def read(data: dict[str, Any]) -> Preview:
        plan = data["previewInvalidation"]
        impacts = tuple(
            Impact(Node.of(each["node"]), each["from"], each["to"], each["depth"])
            for each in plan["impacts"]["nodes"]
        )
        return Preview(plan["planHash"], plan["impactCount"], impacts, to_datetime(plan["asOf"]))

    variables = {"fleet": str(fleet), "root": to_ref(root), "effect": effect, "first": first}
    return Operation(
        documents.PREVIEW, variables | {"asOf": to_instant(as_of)}, read, repeatable=True
    )


def invalidate(
    fleet: int,
    root: NodeName,
    reason: str,
    *,
    effect: Validity = "INVALID",
    effective_at: datetime | str | None = None,
    expected_plan: str | None = None,
    expected_version: str | None = None,
    idempotency_key: str | None = None,
) -> Operation[Run]:
    """Knocks out a node with all that falls with it.

    Without an idempotency key it gets a random one, so that it is safe to try the same operation
    again: it is run once.
    """
    given = {
        "fleetId": str(fleet),
        "root": to_ref(root),
        "reason": reason,
        "effect": effect,
        "effectiveAt": to_instant(effective_at),
        "expectedPlan": expected_plan,
        "expectedVersion": expected_version,
        "idempotencyKey": idempotency_key or str(uuid.uuid4()),
    }
    variables = {"input": {name: value for name, value in given.items() if value is not None}}
    return Operation(
        documents.INVALIDATE, variables, lambda data: Run.of(done(data)), repeatable=True
    )


def put_nodes(fleet: int, inputs: Iterable[NodeInput], *, cosmetic: bool = False) -> Operation[Put]:
    """Makes or updates 1 to 1,000 nodes, all or none; a `cosmetic` change fells nothing."""

    def read(data: dict[str, Any]) -> Put:
        told = done(data)
        runs = tuple(map(Run.of, told["runs"]))
        return Put(tuple(map(Node.of, told["nodes"])), runs, to_datetime(told["instant"]))

    on_change = "KEEP" if cosmetic else "PROPAGATE"
    given = {"fleetId": str(fleet), "nodes": list(inputs), "onChange": on_change}
    return Operation(documents.PUT_NODES, {"input": given}, read, repeatable=False)


def link_nodes(
    fleet: int, edges: Iterable[tuple[NodeName, EdgeType, NodeName]]
) -> Operation[Linked]:
    """Makes edges, all or none: `(source, type, target)`, where the target depends on the source.

    An edge that is there is no error, but what it has started is told once: to try again may hide
    a run.
    """

    def read(data: dict[str, Any]) -> Linked:
        told = done(data)
        ids = tuple(int(each["id"]) for each in told["edges"])
        return Linked(ids, told["run"] and Run.of(told["run"]), to_datetime(told["instant"]))

    wanted = [
        {"source": to_ref(source), "type": type, "target": to_ref(target)}
        for source, type, target in edges
    ]
    given = {"fleetId": str(fleet), "edges": wanted}
    return Operation(documents.LINK_NODES, {"input": given}, read, repeatable=False)


def revert_run(fleet: int, run_id: int, *, reason: str | None = None) -> Operation[Reverted]:
    """Undoes a run where nothing newer has touched its nodes."""

    def read(data: dict[str, Any]) -> Reverted:
        told = done(data)
        restored, left = (tuple(map(int, told[name])) for name in ("restoredIds", "leftAloneIds"))
        return Reverted(Run.of(told["run"]), restored, left, to_datetime(told["instant"]))

    given = {"fleetId": str(fleet), "runId": str(run_id), "reason": reason}
    return Operation(documents.REVERT_RUN, {"input": given}, read, repeatable=False)


def last_cursor(fleet: int) -> Operation[str]:
    """The cursor behind all events so far: what comes after it comes from now on."""

    def read(data: dict[str, Any]) -> str:
        return encode_event_cursor(parse_instant(data["events"]["asOf"]), MAX_ID)

    return Operation(documents.EVENTS_SO_FAR, {"fleet": str(fleet)}, read, repeatable=True)
