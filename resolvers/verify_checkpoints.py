"""`verifyCheckpoints`: walks the chain of an execution and its ledger, and names what is broken."""

from __future__ import annotations

from dataclasses import dataclass

from retrograph.resolvers.checkpoints import check_execution
from retrograph.resolvers.scope import Scope
from retrograph.rules.anchor import Anchor
from retrograph.rules.chain import ChainCheck, ChainFaultKind, Fault, Head
from retrograph.rules.checkpoint_errors import CheckpointRemoved
from retrograph.rules.errors import InvalidInput, NotFound
from retrograph.rules.ledger import LedgerCheck
from retrograph.storage.chains import Signed, anchors_of, walk_chain
from retrograph.storage.executions import find_standing, when_begun
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.step_entries import ledger_entries


@dataclass(frozen=True, slots=True)
class VerifiedLedger:
    """The entries of a ledger that hold, up to `head`, whose sequence is a number of an entry.

    `erased` of them are without their results.  `began` is the instant of the first.
    """

    checked: int
    erased: int
    head: Head | None
    fault: Fault | None
    began: int | None


@dataclass(frozen=True, slots=True)
class Verified:
    """What a walk has found: the links that hold, up to `head`, from `anchor` if there is one.

    `erased` of them are without their payloads.  `fault` is the chain's; the ledger has its own.
    """

    checked: int
    erased: int
    head: Head | None
    anchor: Anchor | None
    anchor_hash: str | None
    fault: Fault | None
    ledger: VerifiedLedger
    as_of: int


def verify_checkpoints(
    scope: Scope,
    fleet_id: int,
    execution_id: str,
    expected: Head | None = None,
    expected_ledger: Head | None = None,
) -> Verified:
    """Verifies an execution's chain and its ledger as they are stored now.

    Against a head that was kept of either, if one is.  Raises `NotFound` for an execution that
    isn't there and of which no head was kept, and `CheckpointRemoved` for a kept head that lies
    before the last anchor.
    """
    check_execution(execution_id)
    kept = {"expectedHead": expected, "expectedLedger": expected_ledger}
    for name, head in kept.items():
        if head is not None and head.sequence < 1:
            raise InvalidInput("Give a sequence from 1 on.", path=(name, "sequence"))
    with scope.snapshot(fleet_id) as s:
        standing = find_standing(s, execution_id)
        if standing is None and not any(kept.values()):
            raise NotFound(
                f"There is no execution {execution_id!r} in this fleet.", path=("executionId",)
            )
        number = None if standing is None else standing.id
        ledger = _verify_ledger(s, number, execution_id, expected_ledger)
        return _verify(s, number, execution_id, expected, ledger)


def _verify_ledger(
    s: Snapshot, number: int | None, key: str, expected: Head | None
) -> VerifiedLedger:
    check = LedgerCheck(expected)
    if number is not None:
        check.take(ledger_entries(s, number, key))
    head = check.head if check.head.sequence else None
    return VerifiedLedger(check.checked, check.erased, head, check.finish(), check.began)


def _verify(
    s: Snapshot, number: int | None, key: str, expected: Head | None, ledger: VerifiedLedger
) -> Verified:
    anchors = [] if number is None else anchors_of(s, number, key)
    _check_kept(anchors, expected)
    check = ChainCheck(anchors, expected)
    if number is not None:
        walk_chain(s, number, key, check)
    fault = check.finish()
    if number is not None and not (fault or ledger.fault):
        fault = _fault_of_row(s, number, check.began, ledger.began)
    anchor, sealed = anchors[-1] if anchors else (None, None)
    head = check.head if check.head.sequence else None
    return Verified(check.checked, check.erased, head, anchor, sealed, fault, ledger, s.instant)


def _fault_of_row(s: Snapshot, number: int, *begun: int | None) -> Fault | None:
    """An execution begins in the transaction of its first checkpoint or step, so it has one."""
    first = min((each for each in begun if each is not None), default=None)
    if first is not None and when_begun(s, number) == first:
        return None
    return Fault(0, ChainFaultKind.EXECUTION_ALTERED)


def _check_kept(anchors: list[Signed], expected: Head | None) -> None:
    if expected is not None and anchors and expected.sequence < anchors[-1][0].sequence:
        raise CheckpointRemoved(
            f"Retention has removed the checkpoints up to {anchors[-1][0].sequence}, the kept head "
            "among them. Keep a later one.",
            path=("expectedHead", "sequence"),
        )
