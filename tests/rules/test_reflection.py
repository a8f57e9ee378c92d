"""The gate: a proven end of the task, and a reflection that its schema allows."""

from __future__ import annotations

import pytest

from retrograph.rules.errors import InvalidInput, PromotionRefused
from retrograph.rules.reflection import (
    EpisodeStatus,
    Proof,
    TerminalStatus,
    check_promotion,
    check_version,
    fault_of,
)

SOUND = {"trigger": "timeout", "resolution": "retry", "context": {"tool": "curl"}}
DONE = Proof("ci", TerminalStatus.SUCCEEDED)
WAITING = EpisodeStatus.QUARANTINED


@pytest.mark.parametrize("proof", [DONE, Proof("ann")])
def test_proof_and_form_open_the_gate(proof: Proof) -> None:
    check_promotion(WAITING, SOUND, "1", proof)
    assert proof.signed_off is (proof.status is None)


@pytest.mark.parametrize(
    ("status", "reflection", "proof", "words"),
    [
        (EpisodeStatus.ACTIVE, SOUND, DONE, "is ACTIVE"),
        (EpisodeStatus.RETIRED, SOUND, DONE, "is RETIRED"),
        (WAITING, SOUND, Proof("ci", TerminalStatus.FAILED), "did not succeed"),
        (WAITING, SOUND, Proof("ci", TerminalStatus.CANCELLED), "did not succeed"),
        (WAITING, {}, DONE, "lacks one of"),
        (WAITING, {}, Proof("ann"), "lacks one of"),
    ],
)
def test_the_gate_stays_shut(
    status: EpisodeStatus, reflection: object, proof: Proof, words: str
) -> None:
    with pytest.raises(PromotionRefused, match=words):
        check_promotion(status, reflection, "1", proof)


def test_nobody_vouches_for_nothing() -> None:
    with pytest.raises(InvalidInput):
        check_promotion(WAITING, SOUND, "1", Proof(" ", TerminalStatus.SUCCEEDED))


@pytest.mark.parametrize(
    ("reflection", "fault"),
    [
        (SOUND, None),
        (SOUND | {"context": "plain"}, None),
        ([], "the reflection: is of another type"),
        (SOUND | {"trigger": 1}, "trigger: is of another type"),
        (SOUND | {"trigger": ""}, "trigger: is empty"),
        (SOUND | {"resolution": " \n"}, "resolution: holds nothing but white space"),
        (SOUND | {"resolution": "x" * 20_001}, "resolution: is too long"),
        (SOUND | {"context": None}, "context: is not as its schema asks"),
        (SOUND | {"more": 1}, "the reflection: has members"),
    ],
)
def test_the_schema(reflection: object, fault: str | None) -> None:
    found = fault_of(reflection, "1")
    assert found == fault if fault is None else found is not None and found.startswith(fault)


def test_an_unknown_version_is_refused() -> None:
    assert check_version("1") == "1"
    with pytest.raises(InvalidInput) as caught:
        check_version("2")
    assert caught.value.code == "UNKNOWN_SCHEMA_VERSION"
