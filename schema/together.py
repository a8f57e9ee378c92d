"""Fields with a resolver that can also be resolved for many objects together.

What many subscribers are told is worked out page by page; one call for a page costs a small part of
a call for each object, and of the loader, the task and the future that each of these needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphql import GraphQLField
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

if TYPE_CHECKING:
    from retrograph.schema.context import Context

Fetch = Callable[["Context", Sequence[Any]], Awaitable[Sequence[Any]]]
"""Gives the field's value for each of some objects, in their order, None where it has none."""

_KEY = "retrograph-together"


def together(fetch: Fetch) -> Mapping[object, Any]:
    """The metadata of a field without arguments that `fetch` resolves for many objects."""
    return {_KEY: fetch}


def fetch_of(field: GraphQLField) -> Fetch | None:
    """What resolves a field for many objects; None where each needs its own resolver."""
    definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
    if not isinstance(definition, StrawberryField):
        return None
    fetch: Fetch | None = definition.metadata.get(_KEY)
    return fetch
