"""Keeps the table of permissions: nothing of an operation runs for a caller who may not ask it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphql import GraphQLField, GraphQLSchema

from retrograph.rules.errors import Forbidden
from retrograph.schema.context import Caller, Info
from retrograph.schema.permissions import PERMISSIONS, Roles

Resolve = Callable[..., Any]


def guard(schema: GraphQLSchema, permissions: Mapping[str, Roles | None] = PERMISSIONS) -> None:
    """Puts a check before every field of the root types, and before each event of a subscription.

    Raises `LookupError` unless the table names exactly these fields: none can be forgotten.
    """
    found = _root_fields(schema)
    if found.keys() != permissions.keys():
        odd = ", ".join(sorted(found.keys() ^ permissions.keys()))
        raise LookupError(f"the table of permissions and the schema differ in: {odd}")
    for coordinate, field in found.items():
        takes = permissions[coordinate]
        if field.resolve is not None:
            field.resolve = _guarded(field.resolve, coordinate, takes)
        if field.subscribe is not None:
            field.subscribe = _guarded(field.subscribe, coordinate, takes)


def check_caller(caller: Caller, coordinate: str, takes: Roles | None) -> None:
    """Raises `Unauthenticated` if the caller's proof has expired, `Forbidden` by the roles."""
    caller.check_proof()
    roles = caller.scope.roles
    if takes is not None and not takes & roles:
        wanted = " or ".join(role.name for role in sorted(takes))
        held = ", ".join(role.name for role in sorted(roles)) or "no role"
        raise Forbidden(f"{coordinate} takes the role {wanted}; you have {held}.")


def _root_fields(schema: GraphQLSchema) -> dict[str, GraphQLField]:
    roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
    return {
        f"{root.name}.{name}": field
        for root in roots
        if root is not None
        for name, field in root.fields.items()
    }


def _guarded(resolve: Resolve, coordinate: str, takes: Roles | None) -> Resolve:
    def checked(source: object, info: Info, **arguments: object) -> Any:
        check_caller(info.context.caller, coordinate, takes)
        return resolve(source, info, **arguments)

    return checked
