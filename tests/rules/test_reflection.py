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
    faults_of,
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
        (WAITING, {}, DONE, "it lacks trigger; it lacks resolution; it lacks context"),
        (WAITING, {}, Proof("ann"), "it lacks trigger"),
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


BLANK = "is neither an object nor a text of 1 to 20,000 characters that isn't blank"


@pytest.mark.parametrize(
    ("reflection", "faults"),
    [
        (SOUND, []),
        (SOUND | {"context": "plain"}, []),
        ([], ["it is no object"]),
        (SOUND | {"trigger": 1}, ["its trigger is no text"]),
        (SOUND | {"trigger": ""}, ["its trigger is empty"]),
        (SOUND | {"resolution": " \n"}, ["its resolution holds nothing but white space"]),
        (SOUND | {"resolution": "x" * 20_001},
         ["its resolution is longer than 20,000 characters"]),
        (SOUND | {"context": None}, [f"its context {BLANK}"]),
        (SOUND | {"context": " "}, [f"its context {BLANK}"]),
        (SOUND | {'mo"re': 1, "also": 2},
         ['it has a member "also" that its schema doesn\'t know',
          'it has a member "mo\\"re" that its schema doesn\'t know']),
        (SOUND | {"x" * 81: 1}, [f'it has a member "{"x" * 80}…" that its schema doesn\'t know']),
        ({"trigger": "", "resolution": 2, "more": 1},
         ["it lacks context", 'it has a member "more" that its schema doesn\'t know',
          "its resolution is no text", "its trigger is empty"]),
    ],
)  # fmt: skip
def test_the_schema(reflection: object, faults: list[str]) -> None:
    assert faults_of(reflection, "1") == faults


@pytest.mark.parametrize(("extra", "end"), [(5, ""), (7, "; and 2 more")])
def test_a_refusal_is_a_sentence_of_at_most_five_faults(extra: int, end: str) -> None:
    reflection = SOUND | {f"m{number}": 1 for number in range(extra)}
    with pytest.raises(PromotionRefused) as caught:
        check_promotion(WAITING, reflection, "1", DONE)
    faults = (f'it has a member "m{n}" that its schema doesn\'t know' for n in range(5))
    assert str(caught.value) == (
        f"The reflection is not as its schema says: {'; '.join(faults)}{end}. "
        "Store the episode again with a reflection that its schema allows."
    )


def test_an_unknown_version_is_refused() -> None:
    assert check_version("1") == "1"
    with pytest.raises(InvalidInput) as caught:
        check_version("2")
    assert caught.value.code == "UNKNOWN_SCHEMA_VERSION"
