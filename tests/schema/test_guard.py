"""No root field is forgotten by the table of permissions, and it is kept for each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import cast

import pytest
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, GraphQLString

from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import Forbidden, Unauthenticated
from retrograph.schema.bell import Bell
from retrograph.schema.context import Caller
from retrograph.schema.guard import check_caller, guard
from retrograph.schema.permissions import PERMISSIONS, Roles
from retrograph.storage.store import Store
from tests.shared import ROOT

CONTRACT = {
    "Query": set(Role),
    "Subscription": set(Role),
    "Mutation": {Role.CONTROLLER, Role.ADMIN},
}
"""Who may what by the contract, where an operation is no exception."""
WORKERS = {Role.WORKER, Role.ADMIN}
EXCEPTIONS: Mapping[str, set[Role] | None] = {
    "Query.viewer": None,
    "Mutation.claimRevalidations": WORKERS,
    "Mutation.completeRevalidation": WORKERS,
    "Mutation.deleteExecution": {Role.ADMIN},
    "Mutation.eraseCheckpoints": {Role.ADMIN},
    "Mutation.extendLease": WORKERS,
    "Mutation.retainCheckpoints": {Role.ADMIN},
    "Mutation.rewindFleet": {Role.ADMIN},
}


@pytest.fixture
def caller() -> Caller:
    scope = Scope(cast(Store, None), 1, None, frozenset({Role.WORKER, Role.AUDITOR}))
    return Caller(scope, cast(Executor, None), cast(Bell, None), 1000, lambda: 999)


@pytest.mark.parametrize("coordinate", PERMISSIONS)
def test_the_table_is_that_of_the_contract(coordinate: str) -> None:
    root = coordinate.partition(".")[0]
    assert PERMISSIONS[coordinate] == EXCEPTIONS.get(coordinate, CONTRACT[root])


@pytest.mark.parametrize("table", [{}, {"Query.a": None}, dict.fromkeys("abc")])
def test_a_table_that_names_other_fields_than_the_schema_is_refused(
    table: dict[str, Roles | None],
) -> None:
    fields = {name: GraphQLField(GraphQLString) for name in ("a", "b")}
    schema = GraphQLSchema(GraphQLObjectType("Query", fields))
    with pytest.raises(LookupError, match=r"Query\.b"):
        guard(schema, table)


def test_a_caller_needs_one_of_the_roles(caller: Caller) -> None:
    for takes in (None, frozenset(Role), frozenset({Role.WORKER})):
        check_caller(caller, "Query.a", takes)
    with pytest.raises(Forbidden, match="takes the role CONTROLLER or ADMIN; you have AUDITOR, W"):
        check_caller(caller, "Query.a", frozenset({Role.ADMIN, Role.CONTROLLER}))


def test_what_has_expired_asks_nothing(caller: Caller) -> None:
    late = replace(caller, clock=lambda: 1000)
    with pytest.raises(Unauthenticated):
        check_caller(late, "Query.a", None)


def test_the_documented_table_is_the_one_that_is_kept() -> None:
    text = (ROOT / "docs" / "identity.md").read_text()
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == [
        (
            coordinate,
            "anybody with a token"
            if takes is None
            else ", ".join(f"`{role.name}`" for role in sorted(takes)),
        )
        for coordinate, takes in PERMISSIONS.items()
    ]
