"""What an episode says: its JSON Schemas, by version, and the gate out of quarantine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from retrograph.rules.errors import FieldPath, InvalidInput, PromotionRefused
from retrograph.rules.names import check_name

MAX_REFLECTION_BYTES = 65_536
"""Of a reflection's canonical JSON."""
MAX_METADATA_BYTES = 16_384
DEFAULT_VERSION = "1"
_TOLD = 5
"""Faults of a reflection that a refusal tells; it counts the others."""
_SHOWN = 80
"""Characters of a member's name that a refusal repeats."""

_SAID = {"type": "string", "minLength": 1, "maxLength": 20_000, "pattern": r"\S"}
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "1": {
        "type": "object",
        "required": ["trigger", "resolution", "context"],
        "properties": {
            "trigger": _SAID,
            "resolution": _SAID,
            "context": {"anyOf": [_SAID, {"type": "object"}]},
        },
        "additionalProperties": False,
    }
}


class EpisodeStatus(IntEnum):
    """What has become of an episode; only an active one is recalled."""

    QUARANTINED = 1
    ACTIVE = 2
    RETIRED = 3
    MERGED = 4


class TerminalStatus(IntEnum):
    """How the task ended that an episode tells of."""

    SUCCEEDED = 1
    FAILED = 2
    CANCELLED = 3


@dataclass(frozen=True, slots=True)
class Proof:
    """Why an episode may be believed: a verified end of its task, or a person's sign-off.

    `by` is who verified or signed; `status` None is a sign-off.
    """

    by: str
    status: TerminalStatus | None = None
    note: str | None = None

    @property
    def signed_off(self) -> bool:
        """Whether a person vouches for it."""
        return self.status is None


def check_version(version: str, field: FieldPath = ("input", "schemaVersion")) -> str:
    """A version that has a schema; another is refused with the code UNKNOWN_SCHEMA_VERSION."""
    if version not in _SCHEMAS:
        raise InvalidInput(
            f"There is no such version of reflections; give one of {', '.join(_SCHEMAS)}.",
            path=field,
            code="UNKNOWN_SCHEMA_VERSION",
        )
    return version


def faults_of(reflection: object, version: str) -> list[str]:
    """Where a reflection breaks the schema of its version: each a part of a sentence about it.

    First what it is itself, lacks, or has too much, then one fault of each member, by name.
    """
    errors = list(Draft202012Validator(_SCHEMAS[version]).iter_errors(reflection))
    whole = {part: None for each in errors if not each.path for part in _of_the_whole(each)}
    members: dict[str, str] = {}
    for each in errors:
        if each.path:
            fault = _WORDS.get(str(each.validator), "is not as its schema asks")
            members.setdefault("/".join(map(str, each.path)), fault)
    return [*whole, *(f"its {place} {fault}" for place, fault in sorted(members.items()))]


def _of_the_whole(error: ValidationError) -> list[str]:
    rule: Any = error.validator_value
    given: Any = error.instance
    schema: Any = error.schema
    if error.validator == "required":
        return [f"it lacks {name}" for name in rule if name not in given]
    if error.validator == "additionalProperties":
        extra = sorted(given.keys() - schema["properties"].keys())
        return [f"it has a member {_quoted(name)} that its schema doesn't know" for name in extra]
    return ["it is no object"]


def _quoted(name: str) -> str:
    cut = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return json.dumps(cut, ensure_ascii=False)


_WORDS = {
    "type": "is no text",
    "maxLength": "is longer than 20,000 characters",
    "minLength": "is empty",
    "pattern": "holds nothing but white space",
    "anyOf": "is neither an object nor a text of 1 to 20,000 characters that isn't blank",
}


def check_promotion(status: EpisodeStatus, reflection: object, version: str, proof: Proof) -> None:
    """Raises `PromotionRefused` unless the episode is quarantined, proven and well-formed."""
    check_name(proof.by, ("input", "by"))
    if status is not EpisodeStatus.QUARANTINED:
        raise PromotionRefused(
            f"The episode is {status.name}; only a quarantined one can be promoted.",
            path=("input", "id"),
        )
    if proof.status not in {None, TerminalStatus.SUCCEEDED}:
        raise PromotionRefused(
            "Its task did not succeed; let a person sign it off, or leave it.",
            path=("input", "terminalStatus"),
        )
    faults = faults_of(reflection, version)
    if faults:
        told = "; ".join(faults[:_TOLD])
        more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
        raise PromotionRefused(
            f"The reflection is not as its schema says: {told}{more}. "
            "Store the episode again with a reflection that its schema allows.",
            path=("input", "id"),
        )
