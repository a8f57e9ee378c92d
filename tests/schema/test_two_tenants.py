"""Two tenants side by side, with equal fleets and keys: neither finds or changes what is other's.

Whatever the schema holds is tried, by operations that are made from it. A new field is tried, too;
`tenants` must plant what it shows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import eq, ne
from typing import Any

import httpx
import pytest
from graphql import (
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    build_schema,
    get_named_type,
    get_nullable_type,
)

from retrograph.app import create_app
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.rewind_fleet import confirmation
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.write_uses import write_uses
from retrograph.rules.instant import format_instant, parse_instant
from retrograph.schema.permissions import PERMISSIONS
from retrograph.schema.protection import Protection
from retrograph.schema.schema import sdl
from retrograph.schema.update import CHANGES, update_cursors
from retrograph.storage.filters import NodeFilter
from retrograph.storage.store import Store, open_store
from retrograph.storage.task_records import TaskRecord
from tests.clock import START, ManualClock
from tests.dump import dump_fleet
from tests.memory import NEW, Memory
from tests.schema.generated import Operation, Values, coordinates, operation, optional
from tests.schema.serving import Served, Socket, listening, serving
from tests.schema.tenants import MARK, keep
from tests.schema.tokens import bearer, tokens
from tests.storage.tour import write_all

THEIRS, OURS = 1, 2
FLEET, ELSEWHERE, UNHELD, NOWHERE = 1, 700_001, 700_002, 700_003
"""What both have, what only the other has, what we have and don't hold, and what nobody has."""
READING = [name for name in PERMISSIONS if name.startswith("Query.")]
WRITING = [name for name in PERMISSIONS if name.startswith("Mutation.")]

TASK, VERSION = "RevalidationTask.id", "MemoryNode.versionId"
REFS: tuple[tuple[int, ...], ...] = ((0,), (1,), (0, 1), (1, 0))
"""Nodes by id, by key, and by one of each."""
FOREIGN = (NOWHERE, UNHELD, ELSEWHERE)
GIVEN: dict[str, Any] = {
    "fleetId": str(FLEET),
    "key": "root",
    "keyPrefix": "r",
    "keys": "fallen",
    "idempotencyKey": "theirs",
    "first": 50,
    "from": format_instant(START),
    "dryRun": False,
    "domain": "d",
}
DEFAULTS = {
    "Vector": [1, 0], "Int": 3, "Float": 0.5, "Boolean": True, "JSON": {"text": "a"}, "Long": "1",
}  # fmt: skip
ENUMS = {"EventType": "NODE_STALE"}
DEAR = Protection(max_cost=10**12)
"""Everything at once costs more than one may ask for."""

Gives = Callable[[str], bool]
Refs = Sequence[int]
LITTLE: Gives = partial(eq, "terminalStatus")
"""A promotion without a verified end is a sign-off, which takes another role."""


@dataclass(frozen=True, slots=True)
class Tenants:
    """Both tenants' data behind one application that asks for tokens."""

    store: Store
    served: Served
    known: Known

    def ask(self, asked: Operation, tenant: int = OURS, **claims: Any) -> httpx.Response:
        """An answer; by default to an administrator who holds the one fleet."""
        headers = bearer(tenant=tenant, **({"fleets": [FLEET]} | claims))
        body = {"query": asked.document, "variables": asked.variables}
        response = self.served.client.post("/graphql", json=body, headers=headers)
        assert response.status_code == 200, response.text
        return response

    def theirs(self) -> list[Any]:
        """All that the other tenant has stored."""
        return [dump_fleet(self.store, THEIRS, fleet) for fleet in (FLEET, ELSEWHERE)]


@contextmanager
def planted(store: Store) -> Iterator[Tenants]:
    """Plants both tenants' fleets, with the same keys, and serves them."""
    store.write_all(THEIRS, [FLEET, ELSEWHERE], lambda _: None)
    store.write_all(OURS, [FLEET, UNHELD], lambda _: None)
    both = {tenant: Scope(store, tenant, None, frozenset(Role)) for tenant in (THEIRS, OURS)}
    known = Known()
    for tenant, scope in both.items():
        write_all(scope, FLEET)
        held = keep(Memory(scope, FLEET), MARK if tenant == THEIRS else "for your eyes")
        if tenant == THEIRS:
            known.hold(held[0])
    keep(Memory(both[THEIRS], ELSEWHERE), MARK)
    with serving(create_app(store, identify=tokens(), protection=DEAR)) as served:
        tenants = Tenants(store, served, known)
        learn(tenants)
        write_uses(store)  # of what was recalled; else it would be written while a test compares
        yield tenants


@pytest.fixture
def tenants(store: Store) -> Iterator[Tenants]:
    """Two tenants on each engine."""
    with planted(store) as made:
        yield made


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    """Two tenants for what no engine matters for."""
    store = open_store(str(tmp_path_factory.mktemp("tenants") / "memory.db"), clock=ManualClock())
    with closing(store), planted(store) as made:
        yield made


class Known:
    """What the other tenant knows of its fleet: ids, cursors and texts, by where they stood."""

    def __init__(self) -> None:
        self.by_field: dict[str, list[str]] = defaultdict(list)
        self.cursors: dict[str, list[str]] = defaultdict(list)

    def hold(self, task: TaskRecord) -> None:
        """Takes in a task that the other tenant has leased; its token is told by no query."""
        self.by_field[TASK].append(str(task.id))
        self.by_field["RevalidationTask.leaseToken"].append(task.lease_token or "")

    def learn(self, asked: Operation, body: Any) -> None:
        """Takes in an answer."""
        for coordinate, value in coordinates(body.get("data")):
            name = coordinate.partition(".")[2]
            if not isinstance(value, str) or MARK in value or name == "code":
                continue
            if name in {"cursor", "endCursor"}:
                self.cursors[asked.coordinate].append(value)
            elif type_of(coordinate) in {"ID", "String"}:
                self.by_field[coordinate].append(value)

    def kinds(self) -> list[str]:
        """The fields that ids are taken from."""
        return [each for each in self.by_field if each in ids() and each != VERSION]

    def things(self) -> set[tuple[str, str]]:
        """The ids of all that the other tenant has, each with its field."""
        return {(each, value) for each in ids() for value in self.by_field[each]}

    def give(self, coordinate: str, kind: str, at: str, name: str, type: str) -> Any:
        """A value for an input of a root field; ids are those of a kind."""
        if name in GIVEN or name == "confirm":
            return GIVEN[name] if name in GIVEN else confirmation(FLEET, parse_instant(at))
        if type == "ID":
            known = self.by_field[VERSION if "Version" in name else kind]
            return known[0] if known else "1"
        if type == "DateTime":
            return at
        if name == "after":
            return next(iter(self.cursors[coordinate]), "none")
        if type == "String":
            same = (c for c in self.by_field if c.endswith(f".{name}") and c not in ids())
            return next((self.by_field[each][0] for each in same), "said")
        return DEFAULTS[type]


@cache
def schema() -> GraphQLSchema:
    return build_schema(sdl())


def type_of(coordinate: str) -> str:
    """The name of a field's scalar or object type."""
    type, name = coordinate.split(".")
    found = schema().type_map[type]
    assert isinstance(found, GraphQLObjectType)
    name = get_named_type(found.fields[name].type).name
    assert isinstance(name, str)
    return name


@cache
def ids() -> frozenset[str]:
    """The fields that hold an id of something that a fleet holds."""
    outputs = (each for each in schema().type_map.values() if isinstance(each, GraphQLObjectType))
    return frozenset(
        f"{each.name}.{name}"
        for each in outputs
        for name, found in each.fields.items()
        if not each.name.startswith("__")
        and isinstance(get_nullable_type(found.type), GraphQLScalarType)
        and get_named_type(found.type).name == "ID"
    ) - {"Viewer.tenantId", "Event.fleetId"}


def variations(
    coordinate: str, known: Known, at: str, *, thorough: bool = False
) -> list[Operation]:
    """Operations on a root field with ids of every kind; thorough: with all that may be given."""
    kinds, names = known.kinds() or ["none"], optional(schema(), coordinate)
    chosen: list[tuple[str, Gives, Refs, str | None]]
    chosen = [(kind, LITTLE, refs, None) for kind in kinds for refs in REFS]
    if thorough:
        cursors = [each[0] for each in known.cursors.values() if each]
        chosen += [(kind, everything, refs, None) for kind in kinds for refs in REFS]
        chosen += [(kinds[0], nothing, REFS[1], cursor) for cursor in cursors]
        chosen += [
            (kinds[0], gives, refs, None)
            for name in names
            for gives in (partial(eq, name), partial(ne, name))
            for refs in REFS[:2]
        ]
    found: dict[str, Operation] = {}
    for kind, gives, refs, cursor in chosen:
        give = partial(known.give, coordinate, kind, at)
        made = operation(schema(), coordinate, Values(give, gives, refs, cursor, ENUMS))
        found[f"{made.document} {json.dumps(made.variables)}"] = made
    return list(found.values())


def nothing(_: str) -> bool:
    return False


def everything(_: str) -> bool:
    return True


def learn(tenants: Tenants) -> None:
    """Lets the other tenant find out what it can by asking for everything."""
    for _ in range(2):  # some is asked for by ids that must be known first
        at = format_instant(tenants.store.clock(THEIRS, FLEET))
        for coordinate in READING:
            for asked in variations(coordinate, tenants.known, at):
                tenants.known.learn(asked, tenants.ask(asked, tenant=THEIRS).json())


def found(answer: httpx.Response) -> set[tuple[str, str]]:
    """The ids of what an answer shows, each with its field."""
    return {each for each in coordinates(answer.json().get("data")) if each[0] in ids()}


def test_the_other_tenant_finds_what_is_its_own(neighbours: Tenants) -> None:
    known = neighbours.known
    assert set(known.kinds()) | {VERSION} == ids(), "plant what has such an id in `keep`"
    assert known.cursors.keys() >= {"Query.nodes", "Query.events", "Query.changes"}
    asked = operation(schema(), "Query.nodes", Values(partial(known.give, "", "", ""), nothing))
    assert MARK in neighbours.ask(asked, tenant=THEIRS).text


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.long)])
def test_what_is_anothers_is_neither_found_nor_changed(tenants: Tenants, thorough: bool) -> None:
    known, before = tenants.known, tenants.theirs()
    ours = dump_fleet(tenants.store, OURS, FLEET)
    for coordinate in (*READING, *WRITING):
        at = format_instant(tenants.store.clock(OURS, FLEET))
        for asked in variations(coordinate, known, at, thorough=thorough):
            answer = tenants.ask(asked)
            assert MARK not in answer.text, asked
            assert "INTERNAL_ERROR" not in answer.text, asked
            assert not found(answer) & known.things(), asked
        assert tenants.theirs() == before, coordinate
    assert dump_fleet(tenants.store, OURS, FLEET) != ours


def test_whoever_leased_a_task_holds_on_to_it_by_what_is_tried(neighbours: Tenants) -> None:
    """Else it would prove nothing that another tenant can't."""
    give = partial(neighbours.known.give, "Mutation.extendLease", TASK, "")
    asked = operation(schema(), "Mutation.extendLease", Values(give, nothing))
    answers = [neighbours.ask(asked, tenant=each).json()["data"] for each in (OURS, THEIRS)]
    said = [each["__typename"] for answer in answers for each in answer.values()]
    assert said == ["NotFound", "LeaseExtended"]


@pytest.mark.parametrize("role", [*Role, None], ids=str)
def test_no_role_opens_what_is_anothers(neighbours: Tenants, role: Role | None) -> None:
    known, before = neighbours.known, neighbours.theirs()
    roles = [] if role is None else [role.name]
    for coordinate in (*READING, *WRITING):
        takes = PERMISSIONS[coordinate]
        allowed = takes is None or role in takes
        at = format_instant(neighbours.store.clock(OURS, FLEET))
        for asked in variations(coordinate, known, at):
            answer = neighbours.ask(asked, roles=roles)
            codes = {each["extensions"]["code"] for each in answer.json().get("errors", [])}
            assert allowed == ("FORBIDDEN" not in codes), asked
            assert MARK not in answer.text, asked
            assert not found(answer) & (known.things() if allowed else found(answer)), asked
    assert neighbours.theirs() == before


def test_a_fleet_that_is_not_held_looks_exactly_like_none(neighbours: Tenants) -> None:
    at = format_instant(neighbours.store.clock(OURS, FLEET))
    callers = ((OURS, ["ADMIN"]), (THEIRS, ["ADMIN"]), (OURS, ["AUDITOR"]))
    for coordinate in (*READING, *WRITING):
        for asked in variations(coordinate, neighbours.known, at):
            if "fleetId" in json.dumps(asked.variables):
                for tenant, roles in callers:
                    said = [outside(neighbours, asked, each, tenant, roles) for each in FOREIGN]
                    assert said[1:] == said[:-1], asked


def outside(
    tenants: Tenants, asked: Operation, fleet: int, tenant: int, roles: list[str]
) -> tuple[str, Any]:
    """An answer about a fleet, without what tells apart any two answers."""
    moved = replace(asked, variables=with_fleet(asked.variables, str(fleet)))
    answer = tenants.ask(moved, tenant=tenant, roles=roles)
    headers = {name: v for name, v in answer.headers.items() if name != "x-request-id"}
    return answer.text.replace(str(fleet), "FLEET"), headers


def with_fleet(variables: Any, fleet: str) -> Any:
    if not isinstance(variables, dict):
        return variables
    return {
        name: fleet if name == "fleetId" else with_fleet(value, fleet)
        for name, value in variables.items()
    }


def test_a_subscription_hears_nothing_of_anothers_fleet(neighbours: Tenants) -> None:
    store, known = neighbours.store, neighbours.known
    known.cursors["Subscription.events"] = known.cursors["Query.events"]
    began, watched = store.clock(OURS, FLEET), update_cursors(FLEET, NodeFilter(), None)
    known.cursors["Subscription.snapshotThenChanges"] = [watched.encode(began, CHANGES, 0, 0, 0)]
    app = create_app(store, identify=tokens(), protection=DEAR)
    both = [Memory(Scope(store, each, None, frozenset(Role))) for each in (THEIRS, OURS)]
    with listening(app) as server, server.socket(begun=False) as socket:
        socket.say({"type": "connection_init", "payload": bearer(tenant=OURS, fleets=[FLEET])})
        assert socket.hear() == {"type": "connection_ack"}
        for coordinate in (each for each in PERMISSIONS if each.startswith("Subscription.")):
            tried = variations(coordinate, known, "", thorough=True)
            behind = [each for each in tried if "after" in each.variables]
            assert behind, "without a cursor it can't be told when a subscription begins"
            for number, asked in enumerate(behind):
                said = [subscribed(socket, asked, f"{number} {f}", f) for f in FOREIGN]
                assert said[0]["type"] == "error"
                assert len({json.dumps(each["payload"]) for each in said}) == 1
                if "filter" in asked.variables:
                    assert_tells_nothing(socket, asked, f"{number}")
                    continue
                socket.subscribe(f"{number}", asked.document, **asked.variables)
                socket.sync()
                for memory, reason in zip(both, (MARK, f"over {number}"), strict=True):
                    memory.put(NodeInput(f"n{number}", kind=NEW))
                    memory.fell(f"n{number}", reason=reason)
                messages = heard(socket, f"{number}", f"over {number}")
                assert messages[-1]["type"] == "next", messages[-1]
                assert MARK not in json.dumps(messages)


def assert_tells_nothing(socket: Socket, asked: Operation, id: str) -> None:
    """What filters name of another tenant's is not there; what is there for all is ours."""
    socket.subscribe(id, asked.document, **asked.variables)
    for word in ({"type": "ping"}, {"type": "complete", "id": id}, {"type": "ping"}):
        socket.say(word)
        while word["type"] == "ping" and (message := socket.hear()) != {"type": "pong"}:
            assert MARK not in json.dumps(message)


def subscribed(socket: Socket, asked: Operation, id: str, fleet: int) -> Any:
    """What a subscription to a fleet that isn't ours is answered."""
    socket.subscribe(id, asked.document, **with_fleet(asked.variables, str(fleet)))
    message = json.dumps(socket.hear())
    return json.loads(message.replace(str(fleet), "FLEET"))


def heard(socket: Socket, id: str, last: str) -> list[Any]:
    """What a subscription hears up to a text, or until it ends."""
    messages = [socket.hear()]
    while messages[-1]["type"] == "next" and last not in json.dumps(messages[-1]):
        messages.append(socket.hear())
    for word in ({"type": "complete", "id": id}, {"type": "ping"}):
        socket.say(word)
    while (message := socket.hear()) != {"type": "pong"}:
        messages.insert(0, message)  # what was on its way
    return messages
