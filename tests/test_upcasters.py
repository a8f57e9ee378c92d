"""Upcasters are found by packages and settings, used in loading, and checked dry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from retrograph import upcaster_loading
from retrograph.app import create_app
from retrograph.resolvers.check_upcasts import ROWS
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.checkpoint_errors import UnknownSchemaVersion, UpcastFailed
from retrograph.rules.errors import ConfigurationError
from retrograph.rules.upcasting import Upcaster, Upcasters
from retrograph.storage.store import open_store
from retrograph.upcaster_loading import load_upcasters
from tests.command import refused, retrograph
from tests.executions import Execution
from tests.schema.serving import serving

STATES = """
from retrograph.rules.upcasting import Upcaster

def second(state):
    return {"steps": [state["step"]]}

UPCASTERS = [Upcaster("1", "2", second)]
SLIP = [Upcaster("1", "2", lambda state: state.update(a=1))]
NONE = 5
WRONG = [5]
"""


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module with upcasters, by its name."""
    (tmp_path / "states_of_ours.py").write_text(STATES)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "states_of_ours"
    sys.modules.pop("states_of_ours", None)


@pytest.fixture
def old(scope: Scope) -> Execution:
    """An execution with a checkpoint of version 1."""
    execution = Execution(scope)
    execution.grow(1)
    second = Upcasters([Upcaster("1", "2", lambda state: {"steps": [state["step"]]})])
    return replace(execution, scope=replace(scope, upcasters=second))


@pytest.mark.parametrize("named", ["states_of_ours", "states_of_ours:UPCASTERS"])
def test_a_module_is_named_with_or_without_its_attribute(states: str, named: str) -> None:
    assert load_upcasters(named).upcast("1", '{"step":1}') == ("2", '{"steps":[1]}')


def test_packages_offer_theirs(states: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = EntryPoint("ours", f"{states}:UPCASTERS", upcaster_loading.GROUP)
    monkeypatch.setattr(upcaster_loading, "entry_points", lambda group: [offered])
    assert load_upcasters(None).upcast("1", '{"step":1}')[0] == "2"
    with pytest.raises(ConfigurationError, match="Two upcasters"):
        load_upcasters(states)


@pytest.mark.parametrize(
    ("attribute", "said"),
    [(":NOTHING", "can't be loaded"), (":NONE", "no list"), (":WRONG", "no Upcaster")],
)
def test_what_is_no_upcaster_is_told(states: str, attribute: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_upcasters(f"{states}{attribute}")
    with pytest.raises(ConfigurationError, match="can't be loaded"):
        load_upcasters("no_such_module")


def test_a_checkpoint_is_loaded_in_its_current_version(old: Execution) -> None:
    head = old.head()
    assert head is not None
    assert (head.schema_version, head.stored_schema_version) == ("2", "1")
    assert head.payload == '{"steps":[1]}'
    new = old.commit(1, schema_version="2").checkpoint
    assert old.get(2) == new
    assert old.sequences() == [2, 1]


def test_an_unknown_version_is_neither_committed_nor_loaded(old: Execution) -> None:
    with pytest.raises(UnknownSchemaVersion) as caught:
        old.commit(1, schema_version="3")
    assert caught.value.path == ("input", "schemaVersion")
    Execution(replace(old.scope, upcasters=Upcasters())).commit(1, schema_version="3")
    with pytest.raises(UnknownSchemaVersion):
        old.head()


def test_what_a_commit_answers_is_as_it_is_stored(old: Execution) -> None:
    assert old.commit(0).checkpoint.schema_version == "1"


def test_failures_of_upcasters_are_typed(scope: Scope) -> None:
    Execution(scope).grow(1)
    broken = replace(scope, upcasters=Upcasters([Upcaster("1", "2", lambda state: state["no"])]))
    with pytest.raises(UpcastFailed):
        Execution(broken).head()
    with serving(create_app(scope.store, upcasters=broken.upcasters)) as served:
        asked = '{ checkpoint(fleetId: 1, executionId: "run") { payload } }'
        assert served.ask(asked).code == "UPCAST_FAILED"
        told = "{ events(fleetId: 1) { nodes { checkpoint { schemaVersion } } } }"
        found: Any = served.ask(told).data["events"]["nodes"]
        assert found == [{"checkpoint": {"schemaVersion": "1"}}]


def test_the_dry_run_names_what_would_not_load(tmp_path: Path, states: str) -> None:
    database = tmp_path / "memory.db"
    store = open_store(str(database))
    store.write_all(1, [1, 2], lambda _: None)
    scope = Scope(store, 1, None, frozenset(Role))
    Execution(scope).grow(ROWS + 1)
    Execution(scope, "broken", 2).grow(1, payload={"other": 1})
    Execution(scope, "newer", 2).grow(1, schema_version="9")
    store.close()
    words = ("checkpoints", "check", "--database", database)
    assert retrograph(*words).output == f"{ROWS + 3} checkpoints, 0 would not load.\n"
    checked = retrograph(*words, "--upcasters", states)
    assert checked.exit_code == 1
    one, two, total = checked.output.splitlines()
    assert one.startswith("Fleet 2, 'broken', checkpoint 1: [UPCAST_FAILED]")
    assert two.startswith("Fleet 2, 'newer', checkpoint 1: [UNKNOWN_SCHEMA_VERSION]")
    assert total == f"{ROWS + 3} checkpoints, 2 would not load."
    slipped = retrograph(*words, "--upcasters", f"{states}:SLIP")
    assert slipped.exit_code == 1
    assert slipped.output.endswith(f"{ROWS + 3} checkpoints, {ROWS + 3} would not load.\n")
    assert "module" in refused("CONFIGURATION", *words, "--upcasters", "no/module")
