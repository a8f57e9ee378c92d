"""Erases the payloads of checkpoints and the results of steps; what proves them stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Executable, Table, bindparam, select, update
from sqlalchemy.types import Text

from retrograph.rules.chain import Stored, is_whole, left_of
from retrograph.rules.erasure import Erasure, erasure_text
from retrograph.rules.errors import FieldPath, NotFound
from retrograph.storage.chains import chain_rows
from retrograph.storage.checkpoints import damaged
from retrograph.storage.has_key import has_key
from retrograph.storage.payload_codec import Codec
from retrograph.storage.prepared import Frame, fetch, prepared, within_scope
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.step_entries import NAMES, StepRow, entries_of
from retrograph.storage.steps import damaged_step, is_sound
from retrograph.storage.tables import checkpoint, execution_step
from retrograph.storage.write import Write


def stored_checkpoint_of(s: Snapshot, execution: int, key: str, sequence: int) -> Stored | None:
    """A checkpoint of an execution, called `key`, as it is stored; raises `CheckpointDamaged`."""
    rows = chain_rows(s, execution, key, sequence - 1, 1)
    if not rows or rows[0].sequence != sequence:
        return None
    if not is_whole(rows[0]):
        raise damaged(key, sequence)
    return rows[0]


def erase_payload(write: Write, execution: int, row: Stored, erasure: Erasure) -> None:
    """Erases the payload of a sound checkpoint."""
    assert row.link is not None  # noqa: S101 (it is sound)
    text = erasure_text(erasure, left_of(row.link, row.hash))
    here = {"execution_id": execution, "sequence": row.sequence}
    _erase(write, checkpoint, here, {"erasure": text, "codec": int(Codec.PLAIN), "payload": b""})


def erase_result(
    write: Write, execution: int, name: str, key: str, erasure: Erasure, *, path: FieldPath
) -> bool:
    """Erases the result of a step of an execution, called `name`; False where it has none.

    Raises `NotFound`, by the path of the key, and `CheckpointDamaged`.
    """
    s = write.snapshot
    rows = fetch(s, _step, execution=execution, key=key)
    if not rows:
        raise NotFound(
            f"The execution {name!r} has no step {key!r}; list those it has by steps.", path=path
        )
    row = StepRow(*rows[0])
    if not is_sound(entries_of(s, name, row)):
        raise damaged_step(name, key)
    if row.result is None:
        return False
    signed = Erasure(erasure.at, erasure.by, erasure.reason, row.result_hash())
    text = erasure_text(signed, row.left())
    here = {"execution_id": execution, "ordinal": row.ordinal}
    _erase(write, execution_step, here, {"erasure": text, "codec": None, "result": None})
    return True


def _erase(write: Write, table: Table, here: Mapping[str, int], values: dict[str, Any]) -> None:
    s = write.snapshot
    s.connection.execute(
        update(table)
        .where(
            *(table.c[name] == value for name, value in here.items()),
            table.c.tenant_id == s.tenant_id,
            table.c.fleet_id == s.fleet_id,
        )
        .values(values)
    )


@prepared
def _step(frame: Frame) -> Executable:  # noqa: ARG001 (of the present)
    return select(*(execution_step.c[name] for name in NAMES)).where(
        execution_step.c.execution_id == bindparam("execution"),
        has_key(execution_step.c.key, bindparam("key", type_=Text)),
        *within_scope(execution_step),
    )
