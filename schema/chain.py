"""What a walk over the chain and the ledger of an execution found, and what retention has left."""

from __future__ import annotations

import strawberry

from retrograph.resolvers.verify_checkpoints import Verified, VerifiedLedger
from retrograph.rules import anchor, chain
from retrograph.schema.enums import ChainFaultKind
from retrograph.schema.scalars import DateTime, Long


@strawberry.input(description="A head that was kept elsewhere, to find a lost tail by.")
class ChainHeadInput:
    sequence: Long = strawberry.field(description="Its sequence.")
    hash: str = strawberry.field(description="Its hash.")

    def read(self) -> chain.Head:
        """The head as the use case takes it."""
        return chain.Head(self.sequence, self.hash)


@strawberry.type(description="The last link of a chain: keep it elsewhere to find a lost tail.")
class ChainHead:
    sequence: Long = strawberry.field(description="Its sequence.")
    hash: str = strawberry.field(description="Its hash.")

    @classmethod
    def of(cls, found: chain.Head | None) -> ChainHead | None:
        """The head that a walk has come to, if any."""
        return None if found is None else cls(sequence=Long(found.sequence), hash=found.hash)


@strawberry.type(description="The first broken link of a chain.")
class ChainFault:
    sequence: Long = strawberry.field(description="The sequence at which it shows.")
    kind: ChainFaultKind = strawberry.field(description="What is wrong with it.")

    @classmethod
    def of(cls, found: chain.Fault | None) -> ChainFault | None:
        """The fault that a walk has found, if any."""
        return None if found is None else cls(sequence=Long(found.sequence), kind=found.kind)


@strawberry.type(
    description=(
        "What a walk over a whole ledger of steps has found. Its entries, the start of a step and "
        "its outcome, are numbered from 1 on; their numbers stand for sequences."
    )
)
class LedgerVerification:
    checked: Long = strawberry.field(description="How many entries hold, from the first on.")
    head: ChainHead | None = strawberry.field(
        description="The last entry that holds; null if none does."
    )
    fault: ChainFault | None = strawberry.field(description="The first broken entry.")
    erased: Long = strawberry.field(
        description="How many of those that hold are without their results: they were erased."
    )

    @classmethod
    def of(cls, found: VerifiedLedger) -> LedgerVerification:
        """What a walk has found."""
        return cls(
            checked=Long(found.checked),
            head=ChainHead.of(found.head),
            fault=ChainFault.of(found.fault),
            erased=Long(found.erased),
        )


@strawberry.type(
    description="What stays of the checkpoints that retention removed: the chain goes on from it."
)
class CheckpointAnchor:
    sequence: Long = strawberry.field(description="The sequence of the last one removed.")
    checkpoint_hash: str = strawberry.field(description="The hash of the last one removed.")
    committed_at: DateTime = strawberry.field(description="When the last one removed was made.")
    began_at: DateTime = strawberry.field(description="When the first of all was made.")
    removed_at: DateTime = strawberry.field(description="When they were removed.")
    removed_by: str = strawberry.field(description="Who signed it off.")
    reason: str = strawberry.field(description="Why.")
    previous_hash: str | None = strawberry.field(description="The hash of the anchor before.")
    hash: str = strawberry.field(description="The hex SHA-256 of all of it.")

    @classmethod
    def of(cls, found: anchor.Anchor | None, sealed: str | None) -> CheckpointAnchor | None:
        """The anchor with its hash."""
        if found is None or sealed is None:
            return None
        return cls(
            sequence=Long(found.sequence),
            checkpoint_hash=found.checkpoint_hash,
            committed_at=DateTime(found.committed_at),
            began_at=DateTime(found.began_at),
            removed_at=DateTime(found.removed_at),
            removed_by=found.removed_by,
            reason=found.reason,
            previous_hash=found.previous_hash,
            hash=sealed,
        )


@strawberry.type(description="What a walk over a whole chain and its ledger has found.")
class ChainVerification:
    valid: bool = strawberry.field(
        description="Whether every link of the chain holds, and every entry of the ledger."
    )
    checked: Long = strawberry.field(description="How many checkpoints hold, from the first on.")
    head: ChainHead | None = strawberry.field(
        description="The last link that holds; null if none does."
    )
    fault: ChainFault | None = strawberry.field(description="The first broken link.")
    anchor: CheckpointAnchor | None = strawberry.field(
        description="What stands for checkpoints that retention has removed."
    )
    as_of: DateTime = strawberry.field(description="The instant the chain was read at.")
    ledger: LedgerVerification = strawberry.field(
        description="What the walk over its steps has found."
    )
    erased: Long = strawberry.field(
        description="How many of those that hold are without their payloads: they were erased."
    )

    @classmethod
    def of(cls, found: Verified) -> ChainVerification:
        """What a walk has found."""
        return cls(
            valid=found.fault is None and found.ledger.fault is None,
            checked=Long(found.checked),
            head=ChainHead.of(found.head),
            fault=ChainFault.of(found.fault),
            anchor=CheckpointAnchor.of(found.anchor, found.anchor_hash),
            as_of=DateTime(found.as_of),
            ledger=LedgerVerification.of(found.ledger),
            erased=Long(found.erased),
        )
