"""A checkpoint of LangGraph as the payload of one of ours.

What is in it is written by the saver's serializer, so that it comes back exactly, and encrypted
where that encrypts: `[type, base64]`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol

Packed = list[str]
"""The type and the base64 of what a serializer has written."""


@dataclass(frozen=True, slots=True)
class State:
    """A payload whose parts are unpacked when they are asked for; `parent` is an id."""

    id: str
    parent: str | None
    packed: dict[str, Packed]
    serde: SerializerProtocol

    @classmethod
    def of(cls, payload: Any, serde: SerializerProtocol) -> State:
        """The state that a payload holds; `ValueError` where it isn't a saver's."""
        try:
            packed = {part: payload[part] for part in ("checkpoint", "metadata")}
            return cls(payload["id"], payload["parent"], packed, serde)
        except (KeyError, TypeError) as error:
            raise ValueError(
                "This checkpoint was not committed by a saver; executions named langgraph/… are "
                "for savers only."
            ) from error

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint as it was put."""
        found: Checkpoint = unpack(self.serde, self.packed["checkpoint"])
        return found

    @property
    def metadata(self) -> CheckpointMetadata:
        """Its metadata as they were put."""
        found: CheckpointMetadata = unpack(self.serde, self.packed["metadata"])
        return found


def payload_of(
    serde: SerializerProtocol,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    parent: str | None,
) -> dict[str, Any]:
    """The payload that `State.of` reads."""
    return {
        "id": checkpoint["id"],
        "parent": parent,
        "checkpoint": pack(serde, checkpoint),
        "metadata": pack(serde, metadata),
    }


def pack(serde: SerializerProtocol, value: Any) -> Packed:
    """Any value as two texts."""
    kind, data = serde.dumps_typed(value)
    return [kind, b64encode(data).decode()]


def unpack(serde: SerializerProtocol, packed: Packed) -> Any:
    """The value that was packed."""
    kind, data = packed
    return serde.loads_typed((kind, b64decode(data)))
