"""What an episode says: its JSON Schemas, by version, and the gate out of quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from jsonschema import Draft202012Validator

from retrograph.rules.errors import FieldPath, InvalidInput, PromotionRefused
from retrograph.rules.names import check_name

MAX_REFLECTION_BYTES = 65_536
"""Of a reflection's canonical JSON."""
MAX_METADATA_BYTES = 16_384
DEFAULT_VERSION = "1"

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


def fault_of(reflection: object, version: str) -> str | None:
    """The first place where a reflection breaks the schema of its version, or None."""
    validator = Draft202012Validator(_SCHEMAS[version])
    faults = sorted(validator.iter_errors(reflection), key=lambda each: list(map(str, each.path)))
    if not faults:
        return None
    place = "/".join(map(str, faults[0].path)) or "the reflection"
    return f"{place}: {_WORDS.get(str(faults[0].validator), 'is not as its schema asks')}"


_WORDS = {
    "required": "lacks one of trigger, resolution and context",
    "type": "is of another type than its schema asks",
    "additionalProperties": "has members that its schema doesn't know",
    "maxLength": "is too long",
    "minLength": "is empty",
    "pattern": "holds nothing but white space",
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
    fault = fault_of(reflection, version)
    if fault is not None:
        raise PromotionRefused(
            f"{fault}. Store the episode again with a reflection that its schema allows.",
            path=("input", "id"),
        )
