"""The lattice of validities."""

from __future__ import annotations

import pytest

from retrograph.rules.validity import RAISED, Validity, is_healthy, severity

SEVERITIES = {
    Validity.CURRENTLY_VALID: 0,
    Validity.REVALIDATED: 0,
    Validity.POTENTIALLY_STALE: 1,
    Validity.DEFINITELY_STALE: 2,
    Validity.INVALID: 3,
    Validity.SUPERSEDED: 3,
}


@pytest.mark.parametrize("validity", Validity)
def test_severity(validity: Validity) -> None:
    assert severity(validity) == SEVERITIES[validity]
    assert is_healthy(validity) == (SEVERITIES[validity] == 0)


def test_stored_numbers_never_change() -> None:
    assert [(one.name, one.value) for one in Validity] == [
        ("CURRENTLY_VALID", 1),
        ("POTENTIALLY_STALE", 2),
        ("DEFINITELY_STALE", 3),
        ("INVALID", 4),
        ("SUPERSEDED", 5),
        ("REVALIDATED", 6),
    ]


def test_raising_gives_the_validity_of_that_severity_but_never_superseded() -> None:
    assert all(severity(validity) == number for number, validity in RAISED.items())
    assert sorted(RAISED) == [1, 2, 3]
    assert Validity.SUPERSEDED not in RAISED.values()


@pytest.mark.parametrize("number", [0, 7, -1])
def test_another_number_is_no_validity(number: int) -> None:
    with pytest.raises(ValueError, match="is not a valid Validity"):
        severity(number)
