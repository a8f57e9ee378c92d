"""The fields of an import file's objects: what each may hold, and what it is inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, TypeVar

from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import parse_instant
from retrograph.rules.limits import MAX_KEY_LENGTH, check_confidence, check_id, check_text
from retrograph.rules.validity import Validity, is_healthy
from retrograph.storage.records import NodeKind

Field = tuple[str, Callable[[Any], object]]
"""The name of a field inside, and what reads its value; it raises `InvalidInput`."""

E = TypeVar("E", bound=IntEnum)
T = TypeVar("T")


def read_fields(
    body: object, fields: Mapping[str, Field], required: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The values of an object by their names inside; raises `InvalidInput`.

    An object has no fields but those in `fields`, and all that are `required`.
    """
    if type(body) is not dict:
        raise InvalidInput("Give an object.")
    if not required <= body.keys():
        missing = min(required - body.keys())
        raise InvalidInput("The field is missing.", path=(missing,))
    read: dict[str, Any] = {}
    for name, value in body.items():
        field = fields.get(name)
        if field is None:
            known = ", ".join(fields)
            raise InvalidInput(f"There is no field {name[:40]!a}; the fields are {known}.")
        try:
            read[field[0]] = field[1](value)
        except InvalidInput as error:
            raise InvalidInput(error.message, path=(name, *error.path)) from None
    return read


def _key(value: object) -> str:
    return check_text(value, (), MAX_KEY_LENGTH)


def _named(value: object) -> str:
    """A key that is checked where its node is looked up, since most are named many times."""
    if type(value) is not str:
        raise InvalidInput("Give a string.")
    return value


def _text(value: object) -> str:
    return check_text(value, ())


def _text_or_null(value: object) -> str | None:
    return None if value is None else check_text(value, ())


def _payload(value: object) -> str | None:
    return None if value is None else canonical_json(value, field=())


def _confidence(value: object) -> float:
    return 1.0 if value is None else check_confidence(value, ())


def _instant(value: object) -> int | None:
    return None if value is None else parse_instant(check_text(value, ()))


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise InvalidInput("Give true or false.")
    return value


def _id(value: object) -> int:
    return check_id(value, ())


def _one_of(kind: type[E]) -> Callable[[object], E]:
    return _choice({member.name: member for member in kind})


def _number_of(kind: type[IntEnum]) -> Callable[[object], int]:
    return _choice({member.name: int(member) for member in kind})


def _choice(names: dict[str, T]) -> Callable[[object], T]:
    def read(value: object) -> T:
        member = names.get(value) if type(value) is str else None
        if member is None:
            raise InvalidInput(f"Give one of {', '.join(names)}.")
        return member

    return read


def _effect(value: object) -> Validity:
    effect = _one_of(Validity)(value)
    if is_healthy(effect):
        raise InvalidInput("Give an effect that is not healthy.")
    return effect


_FLEET: Field = ("fleet", _id)
_CONTENT: dict[str, Field] = {
    "key": ("key", _key),
    "kind": ("kind", _one_of(NodeKind)),
    "payload": ("payload", _payload),
    "contractHash": ("contract_hash", _text_or_null),
    "confidence": ("base_confidence", _confidence),
    "expiresAt": ("expires_at", _instant),
    "fleet": _FLEET,
}
NODE: Mapping[str, Field] = _CONTENT | {
    "key": ("key", _named),
    "validity": ("validity", _one_of(Validity)),
    "projected": ("projected", _one_of(Validity)),
    "pinned": ("pinned", _flag),
    "pinReason": ("pin_reason", _text_or_null),
}
BY: Mapping[str, Field] = _CONTENT | {
    # The use case takes the values themselves; reading them here proves that it will.
    "payload": ("payload", lambda value: (_payload(value), value)[1]),
}
EDGE: Mapping[str, Field] = {
    "source": ("source", _named),
    "target": ("target", _named),
    "type": ("type", _number_of(EdgeType)),
    "fleet": _FLEET,
}
EVIDENCE: Mapping[str, Field] = {
    "node": ("node", _named),
    "uri": ("uri", _text),
    "note": ("note", _text_or_null),
    "fleet": _FLEET,
}
SUPERSEDE: Mapping[str, Field] = {
    "key": ("key", _key),
    "by": ("by", lambda value: value),
    "reason": ("reason", _text),
    "fleet": _FLEET,
}
INVALIDATE: Mapping[str, Field] = {
    "key": ("key", _key),
    "reason": ("reason", _text),
    "effect": ("effect", _effect),
    "fleet": _FLEET,
}
