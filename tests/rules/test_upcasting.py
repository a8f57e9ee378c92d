"""A payload is brought to its current version by the chain of functions that begins at its own."""

from __future__ import annotations

from typing import Any

import pytest

from retrograph.rules.checkpoint_errors import UnknownSchemaVersion, UpcastFailed
from retrograph.rules.errors import ConfigurationError
from retrograph.rules.upcasting import NO_UPCASTERS, Upcaster, Upcasters


def added(name: str) -> Any:
    return lambda state: {**state, name: 1}


CHAIN = Upcasters(
    [
        Upcaster("2", "3", added("c")),
        Upcaster("1", "2", added("b")),
        Upcaster("other/1", "other/2", lambda state: [state]),
    ]
)


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("1", ("3", '{"a":0,"b":1,"c":1}')),
        ("2", ("3", '{"a":0,"c":1}')),
        ("3", ("3", '{"a":0}')),
        ("other/1", ("other/2", '[{"a":0}]')),
    ],
)
def test_a_payload_takes_every_step_of_its_chain(version: str, wanted: tuple[str, str]) -> None:
    assert CHAIN.upcast(version, '{"a":0}') == wanted


def test_an_unknown_version_is_no_guess() -> None:
    for ask in (lambda: CHAIN.upcast("0", "{}"), lambda: CHAIN.check_known("4", path=("x",))):
        with pytest.raises(UnknownSchemaVersion, match="known are '1', '2', '3'") as caught:
            ask()
        assert caught.value.code == "UNKNOWN_SCHEMA_VERSION"


def test_without_functions_every_version_is_as_it_is() -> None:
    NO_UPCASTERS.check_known("any")
    assert NO_UPCASTERS.upcast("any", "{}") == ("any", "{}")


def fails(state: Any) -> Any:
    raise KeyError("secret")


@pytest.mark.parametrize(
    "function", [fails, lambda _: float("nan"), lambda _: object(), lambda _: {1: 2}]
)
def test_a_function_that_fails_is_told_by_its_versions(function: Any) -> None:
    with pytest.raises(UpcastFailed, match="'2'") as caught:
        Upcasters([Upcaster("1", "2", function)]).upcast("1", "{}")
    assert "secret" not in caught.value.message


def test_a_function_that_returns_nothing_is_named_wherever_it_stands_in_its_chain() -> None:
    slip = Upcaster("1", "2", lambda state: state.update(a=1))
    for upcasters in ([slip], [slip, Upcaster("2", "3", lambda state: [state])]):
        with pytest.raises(UpcastFailed, match="from version '1' to '2' gave null"):
            Upcasters(upcasters).upcast("1", "{}")


def test_a_function_gets_a_copy_of_its_own() -> None:
    def spoil(state: Any) -> Any:
        state["a"] += 1
        return state

    upcasters = Upcasters([Upcaster("1", "2", spoil)])
    assert [upcasters.upcast("1", '{"a":0}') for _ in range(2)] == [("2", '{"a":1}')] * 2


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("1", "2"), ("1", "3")], "Two upcasters begin at version '1'"),
        ([("1", "2"), ("2", "1")], "circle"),
        ([("1", "1")], "circle"),
        ([("0", "1"), ("1", "2"), ("2", "1")], "circle"),
    ],
)
def test_functions_that_do_not_fit_together_are_refused(
    edges: list[tuple[str, str]], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Upcasters(Upcaster(*edge, added("x")) for edge in edges)
