"""Whatever is done to a chain behind its back is found, and the first broken link named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import rfc8785
from sqlalchemy import delete, select, update

from retrograph.resolvers.verify_checkpoints import Verified, verify_checkpoints
from retrograph.rules.chain import Head
from retrograph.rules.checkpoint import checkpoint_hash
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.errors import InvalidInput, NotADatabase, NotFound
from retrograph.rules.instant import format_instant
from retrograph.storage.chains import ROWS
from retrograph.storage.checkpoint_records import CheckpointRecord
from retrograph.storage.checkpoints import NAMES, link_of
from retrograph.storage.payload_codec import DEFLATED_FROM, pack
from retrograph.storage.tables import checkpoint, execution
from retrograph.storage.write import Write
from tests.executions import Execution

LARGE = {"text": "words " * DEFLATED_FROM}
OTHERS: dict[str, list[Any]] = {
    "committed_at": [1, 2**40],
    "session": ["other", "", "session "],
    "state_node": ["Plan", "plan\u0301"],
    "schema_version": ["01"],
    "token": ["token"],
    "based_on": ["[1]", "[]]", "{}", '["1"]', "[1.0]", ""],
    "previous_hash": [None, "0" * 64],
    "hash": ["0" * 64, ""],
    "payload": [b'{"step":3}', b"", b'{"step":2} ', b"\xff"],
}
"""What may be put into a column instead of what is there."""
ALTERED = [(column, value) for column, values in OTHERS.items() for value in values]


def verified(run: Execution, expected: Head | None = None) -> Verified:
    return verify_checkpoints(run.scope, run.fleet, run.name, expected)


def fault(run: Execution, expected: Head | None = None) -> tuple[int, str] | None:
    found = verified(run, expected).fault
    return None if found is None else (found.sequence, found.kind.name)


def tamper(run: Execution, act: Callable[[Write], object]) -> None:
    """Writes past the guards, as whoever holds the database can."""

    def job(write: Write) -> None:
        connection = write.snapshot.connection
        if write.snapshot.profile.name == "sqlite":
            for trigger in ("checkpoint_update", "checkpoint_delete"):
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {trigger}")
        act(write)

    run.scope.store.write(1, run.fleet, job)


def change(run: Execution, at: int, /, **values: Any) -> None:
    here = _row(run, at)
    tamper(
        run,
        lambda w: w.snapshot.connection.execute(update(checkpoint).where(*here).values(**values)),
    )


def remove(run: Execution, sequence: int) -> None:
    here = _row(run, sequence)
    tamper(run, lambda w: w.snapshot.connection.execute(delete(checkpoint).where(*here)))


def _row(run: Execution, sequence: int) -> tuple[Any, ...]:
    scoped = (checkpoint.c.tenant_id == 1, checkpoint.c.fleet_id == run.fleet)
    return (*scoped, checkpoint.c.execution_id == number(run), checkpoint.c.sequence == sequence)


def number(run: Execution) -> int:
    """What the execution is called in storage."""
    scoped = (execution.c.tenant_id == 1, execution.c.fleet_id == run.fleet)
    with run.scope.snapshot(run.fleet) as s:
        named = select(execution.c.id).where(*scoped, execution.c.key == run.name)
        found: int = s.connection.execute(named).scalar_one()
        return found


def recomputed(chain: list[CheckpointRecord]) -> list[str]:
    """The hashes of a chain, by nothing but the contract."""
    hashes: list[str] = []
    for each in chain:
        told = {
            "tenantId": str(each.tenant_id), "fleetId": str(each.fleet_id),
            "executionId": each.execution_id, "sessionId": each.session_id,
            "sequence": str(each.sequence), "stateNode": each.state_node,
            "schemaVersion": each.schema_version, "payload": json.loads(each.payload),
            "idempotencyToken": each.idempotency_token,
            "basedOn": [str(id) for id in each.based_on],
            "committedAt": format_instant(each.committed_at),
            "previousHash": hashes[-1] if hashes else None,
        }  # fmt: skip
        hashes.append(hashlib.sha256(rfc8785.dumps(told)).hexdigest())
    return hashes


def test_a_sound_chain_holds(run: Execution) -> None:
    made = run.grow(ROWS + 2)
    found = verified(run)
    assert (found.fault, found.checked, found.anchor) == (None, ROWS + 2, None)
    assert found.head == Head(ROWS + 2, made[-1].hash)
    assert found.as_of == run.scope.clock(run.fleet)
    assert [each.hash for each in made] == recomputed(made)


def test_a_kept_head_is_compared(run: Execution) -> None:
    one, two = run.grow(2)
    assert fault(run, Head(1, one.hash)) is None
    assert fault(run, Head(2, two.hash)) is None
    assert fault(run, Head(1, two.hash)) == (1, "OTHER_HEAD")
    assert fault(run, Head(3, two.hash)) == (3, "LOST_TAIL")


def test_what_is_not_there_is_told(run: Execution) -> None:
    with pytest.raises(NotFound):
        verified(run)
    assert fault(run, Head(1, "0" * 64)) == (1, "LOST_TAIL")
    with pytest.raises(InvalidInput):
        verified(run, Head(0, ""))


@pytest.mark.parametrize(("column", "value"), ALTERED)
def test_an_altered_column_is_found(run: Execution, column: str, value: Any) -> None:
    run.grow(3)
    change(run, 2, **{column: value})
    assert fault(run) == (2, "ALTERED")
    assert verified(run).checked == 1
    if column != "committed_at":
        with pytest.raises(CheckpointDamaged, match="Checkpoint 2"):
            run.get(2)


@pytest.mark.parametrize("payload", [{"step": 1.5}, LARGE], ids=["plain", "deflated"])
def test_a_flipped_bit_of_a_payload_is_found(run: Execution, payload: Any) -> None:
    run.grow(2, payload=payload)
    stored = pack(json.dumps(payload, separators=(",", ":")).encode())[1]
    places = range(len(stored))[:: max(1, len(stored) // 12)]
    for place in (*places, len(stored) - 1):
        broken = bytearray(stored)
        broken[place] ^= 1
        change(run, 1, payload=bytes(broken))
        assert fault(run) == (1, "ALTERED"), place
    change(run, 1, payload=stored)
    assert fault(run) is None


def test_another_codec_is_found(run: Execution) -> None:
    run.grow(1)
    change(run, 1, codec=1)
    assert fault(run) == (1, "ALTERED")


@pytest.mark.parametrize("column", ["session", "state_node", "token", "based_on", "hash"])
def test_bytes_that_are_no_text_are_found(run: Execution, column: str) -> None:
    if run.scope.store._profile.name != "sqlite":
        pytest.skip("the server keeps them out")
    run.grow(2)
    where = "fleet_id = ? AND sequence = 2"
    text = f"UPDATE checkpoint SET {column} = CAST(x'80ff' AS TEXT) WHERE {where}"
    tamper(run, lambda w: w.snapshot.connection.exec_driver_sql(text, (run.fleet,)))
    assert fault(run) == (2, "ALTERED")
    with pytest.raises(NotADatabase, match="restore"):
        run.get(2)
    if column == "hash":
        with pytest.raises(CheckpointDamaged):
            run.commit(2)


@pytest.mark.parametrize(("gone", "found"), [(1, (1, "MISSING")), (2, (2, "MISSING")), (3, None)])
def test_a_row_cut_out_is_found(run: Execution, gone: int, found: Any) -> None:
    head = run.grow(3)[-1]
    remove(run, gone)
    assert fault(run) == found
    assert fault(run, Head(3, head.hash)) == (found or (3, "LOST_TAIL"))


def test_rows_that_changed_places_are_found(run: Execution) -> None:
    run.grow(3)
    for here, there in ((2, 9), (3, 2), (9, 3)):
        change(run, here, sequence=there)
    assert fault(run) == (2, "ALTERED")


def test_a_row_of_another_execution_is_found(run: Execution) -> None:
    other = Execution(run.scope, "other", run.fleet)
    run.grow(2)
    other.grow(3)
    theirs = number(run)
    change(other, 3, execution_id=theirs)
    assert fault(run) == (3, "ALTERED")
    assert fault(other, Head(3, "")) == (3, "LOST_TAIL")


@pytest.mark.parametrize("where", [{"tenant_id": 2}, {"fleet_id": 1}])
def test_a_row_moved_elsewhere_is_missed(run: Execution, where: dict[str, int]) -> None:
    if run.scope.store._profile.name == "mssql":
        pytest.skip("the policy keeps it where it is")
    run.grow(3)
    change(run, 2, **where)
    assert fault(run) == (2, "MISSING")


def test_an_execution_under_another_name_is_found(run: Execution) -> None:
    run.grow(2)
    scoped = (execution.c.tenant_id == 1, execution.c.fleet_id == run.fleet)
    named = update(execution).where(*scoped).values(key="renamed")
    tamper(run, lambda w: w.snapshot.connection.execute(named))
    assert fault(replace(run, name="renamed")) == (1, "ALTERED")


def test_a_forged_row_shows_in_the_next(run: Execution) -> None:
    """Who computes the hash anew must do so for all that follows; a kept head finds even that."""
    head = run.grow(3)[-1]
    forge(run, 2)
    assert fault(run) == (3, "UNLINKED")
    forge(run, 3)
    assert fault(run) is None
    assert fault(run, Head(3, head.hash)) == (3, "OTHER_HEAD")


def forge(run: Execution, sequence: int) -> None:
    """Gives a row another state, and the hash that goes with it and with the row before."""
    before = run.get(sequence - 1)
    assert before is not None
    columns = [checkpoint.c[name] for name in NAMES]
    with run.scope.snapshot(run.fleet) as s:
        row = s.connection.execute(select(*columns).where(*_row(run, sequence))).one()
        link = link_of(s, run.name, row)[0]._replace(state_node="x", previous_hash=before.hash)
    change(run, sequence, state_node="x", previous_hash=before.hash, hash=checkpoint_hash(link))
