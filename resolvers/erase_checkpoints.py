"""`eraseCheckpoints`: takes the content out of checkpoints and steps; what proves them stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from retrograph.resolvers.commit_checkpoint import check_names
from retrograph.resolvers.rollback_execution import require_execution
from retrograph.resolvers.scope import Scope
from retrograph.rules.erasure import Erasure
from retrograph.rules.errors import InvalidInput
from retrograph.rules.limits import MAX_BATCH, MAX_KEY_LENGTH, check_batch, check_text
from retrograph.storage.erasures import erase_payload, erase_result, stored_checkpoint_of
from retrograph.storage.write import Write

_SEQUENCES = ("input", "sequences")
_STEP_KEYS = ("input", "stepKeys")


@dataclass(frozen=True, slots=True)
class Erasing:
    """Whose payloads, by sequence, and whose results, by the keys of steps, are to go."""

    execution_id: str
    by: str
    reason: str
    sequences: Sequence[int] = ()
    step_keys: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Erased:
    """How many payloads and results went."""

    instant: int
    checkpoints: int
    steps: int


def erase_checkpoints(scope: Scope, fleet_id: int, erasing: Erasing) -> Erased:
    """Erases payloads and results for good; hashes stay, so that chain and ledger still verify.

    What retention took, or has been erased, is passed over, and so are steps without a result.  The
    head always stays.  Raises `InvalidInput`, also where nothing is named, `NotFound` for an
    unknown execution or step, and `CheckpointDamaged`.
    """
    check_names(executionId=erasing.execution_id, by=erasing.by)
    check_text(erasing.reason, ("input", "reason"))
    if not erasing.sequences and not erasing.step_keys:
        raise InvalidInput("Name what goes: sequences, stepKeys, or both.", path=_SEQUENCES)
    for field, given in ((_SEQUENCES, erasing.sequences), (_STEP_KEYS, erasing.step_keys)):
        if given:
            check_batch(len(given), MAX_BATCH, field=field)
    for place, key in enumerate(erasing.step_keys):
        check_text(key, (*_STEP_KEYS, str(place)), MAX_KEY_LENGTH)
    return scope.write(fleet_id, lambda write: _erase(write, erasing))


def _erase(write: Write, erasing: Erasing) -> Erased:
    s, name = write.snapshot, erasing.execution_id
    standing = require_execution(s, name)
    if any(not 0 < each < standing.sequence for each in erasing.sequences):
        raise InvalidInput(
            f"The head, {standing.sequence}, always stays; give earlier sequences, from 1 on. "
            "To be rid of its state, roll back to another one first.",
            path=_SEQUENCES,
        )
    erasure, count = Erasure(write.instant, erasing.by, erasing.reason), 0
    for sequence in sorted(set(erasing.sequences)):
        row = stored_checkpoint_of(s, standing.id, name, sequence)
        if row is not None and row.erasure is None:
            erase_payload(write, standing.id, row, erasure)
            count += 1
    steps = sum(
        erase_result(write, standing.id, name, key, erasure, path=(*_STEP_KEYS, str(place)))
        for place, key in enumerate(erasing.step_keys)
    )
    return Erased(write.instant, count, steps)
