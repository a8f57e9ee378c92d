"""Entities that episodes are about: their names, kinds and relations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum

from retrograph.rules.errors import FieldPath, InvalidInput
from retrograph.rules.names import check_name, fold_name

MAX_HOPS = 5
"""Relations from a query's entity to one that counts for it."""
MAX_ENTITIES = 100
"""Of one episode, and of one query before it is expanded."""

_ANY_TENANT = "urn:tenant:"


class EntityKind(IntEnum):
    """What an entity is to an agent."""

    TOOL = 1
    ENTITY = 2
    ERROR = 3


class RelationType(IntEnum):
    """How one entity relates to another."""

    CAUSED_BY = 1
    RESOLVED_WITH = 2
    RELATED_TO = 3


def entity_urn(tenant_id: int, name: str, field: FieldPath = ("entities",)) -> str:
    """`urn:tenant:{id}:entity:{name}`, of a name or of a URN of this tenant.

    The name is folded, and has no white space around it; case makes no difference in the rest of a
    URN either.  Raises `InvalidInput` for a name that is none, and for another tenant's URN.
    """
    own = f"{_ANY_TENANT}{tenant_id}:entity:"
    folded = fold_name(name.strip()).removeprefix(own).strip()
    if folded.startswith(_ANY_TENANT):
        raise InvalidInput("Give the name of an entity, or its URN with your tenant.", path=field)
    return own + check_name(folded, field)


def relation_ends(
    tenant_id: int, source: str, target: str, field: FieldPath = ()
) -> tuple[str, str]:
    """The URNs of two entities; raises `InvalidInput` where they are one and the same."""
    near = entity_urn(tenant_id, source, (*field, "source"))
    far = entity_urn(tenant_id, target, (*field, "target"))
    if near == far:
        raise InvalidInput(
            "An entity can't be related to itself; name two.", path=field, code="SELF_LOOP"
        )
    return near, far


def name_of(urn: str) -> str:
    """The folded name in a URN."""
    return urn.split(":", 4)[4]


def expand(
    urns: Collection[str], related: Mapping[str, Collection[str]], hops: int
) -> frozenset[str]:
    """The entities at most `hops` relations away, in either direction, the given ones included.

    `related` holds each relation both ways.
    """
    found, edge = set(urns), set(urns)
    for _ in range(hops):
        edge = {far for near in edge for far in related.get(near, ())} - found
        found |= edge
    return frozenset(found)


def check_hops(hops: int, field: FieldPath = ("hops",)) -> int:
    """A number of relations: 0 to 5."""
    if not 0 <= hops <= MAX_HOPS:
        raise InvalidInput(f"{hops:,} is out of range; give 0 to {MAX_HOPS}.", path=field)
    return hops
