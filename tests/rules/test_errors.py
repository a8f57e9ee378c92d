"""Every error has one stable code of its own, and a message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from retrograph.rules import checkpoint_errors, errors, stream_errors
from retrograph.rules.errors import RetrographError

HOMES = {errors.__name__, checkpoint_errors.__name__, stream_errors.__name__}


def descendants(parent: type[RetrographError]) -> Iterator[type[RetrographError]]:
    """Every class of the tree under `parent` that the rules themselves define."""
    for child in parent.__subclasses__():
        if child.__module__ in HOMES:
            yield child
        yield from descendants(child)


ALL = list(descendants(RetrographError))


def test_codes_are_distinct_and_constant_case() -> None:
    codes = [error.code for error in ALL]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code) for code in codes)


def test_the_drawn_tree_names_every_error_and_code() -> None:
    assert errors.__doc__ is not None
    drawn = dict(re.findall(r"[├└]── (\w+) +([A-Z_]+)", errors.__doc__))
    assert drawn == {error.__name__: error.code for error in ALL}


def test_an_error_carries_message_and_path() -> None:
    error = errors.NotFound("No node has this key. Look for it with nodes().", path=("by", "key"))
    assert str(error) == error.message == "No node has this key. Look for it with nodes()."
    assert error.path == ("by", "key")


def test_a_more_special_code_stays_with_the_one_error() -> None:
    special = errors.InvalidInput("Too big.", code="PAYLOAD_TOO_LARGE")
    assert special.code == "PAYLOAD_TOO_LARGE"
    assert errors.InvalidInput("Wrong.").code == "BAD_USER_INPUT"


def test_a_version_conflict_carries_the_present_version() -> None:
    error = errors.VersionConflict(7, "7@1714555800000000", path=("expectedVersion",))
    assert (error.node_id, error.current) == (7, "7@1714555800000000")
    assert "7@1714555800000000" in error.message


def test_a_changed_plan_carries_the_present_hash() -> None:
    assert errors.PlanChanged("abc").plan_hash == "abc"


def test_a_run_too_large_says_the_limit() -> None:
    error = errors.RunTooLarge(1_000_000)
    assert error.limit == 1_000_000
    assert "1,000,000" in error.message


def test_a_rejected_import_says_line_and_reason() -> None:
    error = errors.ImportRejected(12, "The kind is missing.")
    assert (error.line, error.reason) == (12, "The kind is missing.")
    assert error.message.startswith("Line 12: The kind is missing.")


def test_a_stopped_import_says_line_and_reason_and_what_was_taken() -> None:
    error = errors.ImportStopped(12, "The run is too large.")
    assert (error.line, error.reason) == (12, "The run is too large.")
    assert error.message.startswith("Line 12: The run is too large. What stands before")


@pytest.mark.parametrize("error", [errors.InvalidCursor, errors.InstantInFuture])
def test_wrong_cursors_and_instants_are_wrong_input(error: type[RetrographError]) -> None:
    assert issubclass(error, errors.InvalidInput)
