"""Steps that are cut out of a ledger, swapped or moved elsewhere are found, and the first named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
import rfc8785

from retrograph.resolvers.record_step import Step, list_steps, record_step
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from retrograph.rules.chain import Head
from retrograph.rules.checkpoint_errors import CheckpointDamaged
from retrograph.rules.errors import InvalidInput
from retrograph.rules.instant import format_instant
from retrograph.storage.checkpoint_records import StepStatus
from retrograph.storage.filters import StepFilter
from retrograph.storage.tables import execution_step
from tests.executions import Execution
from tests.tampering import Row, cut, faults, put, rows_of

STARTED, DONE = StepStatus.STARTED, StepStatus.SUCCEEDED


def tell(run: Execution, key: str, status: StepStatus, result: Any = None) -> None:
    record_step(run.scope, run.fleet, Step(run.name, key, status, None, "do", "w", result))


def keep(run: Execution) -> Head:
    """Records three steps, one after another and one in the midst of another; the ledger's head."""
    tell(run, "one", STARTED)
    tell(run, "two", DONE, {"b": 2})
    tell(run, "one", DONE, {"a": 1})
    tell(run, "three", STARTED)
    head = verify_checkpoints(run.scope, run.fleet, run.name).ledger.head
    assert head is not None
    assert head.sequence == 4
    return head


def steps(run: Execution) -> dict[str, Row]:
    return {row["key"]: row for row in rows_of(run, execution_step)}


def fault(run: Execution, head: Head | None = None) -> Any:
    return faults(run, None, head)[1]


def recomputed(run: Execution) -> list[str]:
    """The hashes of a ledger, by nothing but what the documentation says."""
    told: dict[int, dict[str, Any]] = {}
    for row in rows_of(run, execution_step):
        same = {
            "tenantId": "1", "fleetId": str(run.fleet), "executionId": run.name,
            "key": row["key"], "sequence": str(row["sequence"]),
            "name": row["name"], "worker": row["worker"],
        }  # fmt: skip
        begun = {"at": format_instant(row["started_at"]), "status": "STARTED", "resultHash": None}
        status = {None: "STARTED", 1: "SUCCEEDED", 2: "FAILED"}[row["outcome"]]
        result = None
        if row["result"] is not None:
            canonical = rfc8785.dumps(json.loads(bytes(row["result"])))
            result = hashlib.sha256(canonical).hexdigest()
        ended = {"status": status, "resultHash": result}
        if row["finish_ordinal"] is None:
            told[row["ordinal"]] = same | begun | ended
        else:
            told[row["ordinal"]] = same | begun
            at = format_instant(row["finished_at"])
            told[row["finish_ordinal"]] = same | ended | {"at": at}
    hashes: list[str] = []
    for number in sorted(told):
        before = hashes[-1] if hashes else None
        entry = told[number] | {"number": str(number), "previousHash": before}
        hashes.append(hashlib.sha256(rfc8785.dumps(entry)).hexdigest())
    return hashes


def test_a_sound_ledger_holds(run: Execution) -> None:
    head = keep(run)
    assert fault(run, head) is None
    assert fault(run, Head(4, "0" * 64)) == (4, "OTHER_HEAD")
    assert fault(run, Head(5, head.hash)) == (5, "LOST_TAIL")
    assert recomputed(run)[-1] == head.hash
    assert len(recomputed(run)) == 4
    with pytest.raises(InvalidInput):
        fault(run, Head(0, ""))


@pytest.mark.parametrize(
    ("key", "found"), [("one", (1, "MISSING")), ("two", (2, "MISSING")), ("three", None)]
)
def test_a_step_cut_out_is_found(run: Execution, key: str, found: Any) -> None:
    head = keep(run)
    cut(run, execution_step, steps(run)[key])
    assert fault(run) == found
    assert fault(run, head) == (found or (4, "LOST_TAIL"))


def test_an_outcome_taken_back_is_found(run: Execution) -> None:
    keep(run)
    blank: tuple[str, ...] = ("finished_at", "outcome", "codec", "result", "finish_ordinal")
    blank += ("finish_previous_hash", "finish_hash")
    put(run, execution_step, dict.fromkeys(blank), steps(run)["one"])
    assert fault(run) == (3, "MISSING")


def test_steps_that_changed_places_are_found(run: Execution) -> None:
    keep(run)
    for here, there in ((2, 9), (4, 2), (9, 4)):
        row = next(each for each in steps(run).values() if each["ordinal"] == here)
        put(run, execution_step, {"ordinal": there}, row)
    assert fault(run) == (2, "ALTERED")


def test_results_that_changed_places_are_found(run: Execution) -> None:
    keep(run)
    one, two = steps(run)["one"], steps(run)["two"]
    put(run, execution_step, {"result": two["result"]}, one)
    put(run, execution_step, {"result": one["result"]}, two)
    assert fault(run) == (2, "ALTERED")
    with pytest.raises(CheckpointDamaged, match="step 'two'"):
        tell(run, "two", STARTED)
    with pytest.raises(CheckpointDamaged):
        list_steps(run.scope, run.fleet, run.name, StepFilter(), 5)


def test_a_step_of_another_execution_is_found(run: Execution) -> None:
    other = replace(run, name="other")
    head, theirs = keep(run), keep(other)
    number = steps_of(run, 1)[0]["execution_id"]
    last = steps_of(other, 2)[-1]
    cut(run, execution_step, steps_of(run, 1)[-1])
    put(other, execution_step, {"execution_id": number}, last)
    assert fault(run, head) == (4, "ALTERED")
    assert fault(other, theirs) == (4, "LOST_TAIL")


def steps_of(run: Execution, nth: int) -> list[Row]:
    """The steps of the nth execution of the fleet."""
    rows = sorted(rows_of(run, execution_step), key=lambda each: each["ordinal"])
    number = sorted({each["execution_id"] for each in rows})[nth - 1]
    return [each for each in rows if each["execution_id"] == number]


@pytest.mark.parametrize("where", [{"tenant_id": 2}, {"fleet_id": 2**40}])
def test_a_step_moved_elsewhere_is_missed(run: Execution, where: dict[str, int]) -> None:
    if run.scope.store._profile.name == "mssql" and "tenant_id" in where:
        pytest.skip("the policy keeps it where it is")
    keep(run)
    put(run, execution_step, where, steps(run)["two"])
    assert fault(run) == (2, "MISSING")


def test_a_forged_step_shows_in_the_next(run: Execution) -> None:
    """Its neighbour names the hash before."""
    head = keep(run)
    cut(run, execution_step, steps(run)["two"])
    forged = replace(run, name="forged")
    tell(forged, "one", STARTED)
    assert fault(run, head) == (2, "MISSING")
