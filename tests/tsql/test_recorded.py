"""What the profile sends while a store is used in every way: all of it passes the gate."""

from __future__ import annotations

import re

import pytest

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.rules.errors import NotFound
from retrograph.rules.validity import Validity
from retrograph.sql.loader import queries
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store
from tests.clock import ManualClock
from tests.memory import Memory
from tests.mssql import ALONE, CREATE, DROP, StandIn
from tests.storage.tour import read_all, read_impacts, write_all
from tests.tsql.catalogue import Catalogue
from tests.tsql.gate import check
from tests.tsql.recorder import Recorder
from tests.tsql.rules_access import CLAIM
from tests.tsql.texts import migration_texts
from tests.tsql.tree import Statement, name_of, parse


@pytest.fixture(scope="module")
def recorder(stand_in: StandIn) -> Recorder:
    """A tour, and cascades through supporters that support each other."""
    clock = ManualClock()
    url = stand_in.fresh_url(clock)
    store = open_store(url, clock=clock)
    store.write_all(1, [1], lambda _: None)
    scope = Scope(store, 1, None, frozenset(Role))
    made = write_all(scope, 1)
    clock.advance()
    for at in (None, made.began):
        read_all(scope, 1, made, at)
    read_impacts(scope, 1, made)
    store.poll()
    scope.held_fleets()
    with pytest.raises(NotFound):
        invalidate(scope, 1, Invalidation(NodeRef(key="nobody"), "wrong"))
    _fell_supporters(Memory(scope))
    store.close()
    open_store(url, clock=clock).close()
    return stand_in.recorder


def _fell_supporters(memory: Memory) -> None:
    """One of two falls, then the other, whose standing was already known."""
    memory.plant("root", "amid", "one", "two", "held")
    memory.link("root REQUIRES one", "root REQUIRES amid", "amid REQUIRES two")
    memory.link("one SUPPORTED_BY held", "two SUPPORTED_BY held")
    memory.fell("root")
    assert memory.node("held").validity == Validity.DEFINITELY_STALE


def plain(text: str) -> str:
    """A text without comments, spaces that don't matter, and names of parameters."""
    bare = re.sub(r"--[^\n]*", "", text).replace("CAST(? AS DATETIME2(6))", "?")
    return " ".join(re.sub(r"(?<![:\w]):\w+", "?", bare).split())


def test_all_that_was_sent_passes_the_gate(recorder: Recorder, schema: Catalogue) -> None:
    assert len(recorder.sent) > 100
    assert recorder.findings == []
    sent = [Statement(f"statement {n}", text) for n, text in enumerate(recorder.sent)]
    assert check(sent, schema) == []


def test_every_named_query_was_sent(recorder: Recorder) -> None:
    sent = {plain(text) for text in recorder.sent}
    named = {name: plain(text) for name, text in queries("mssql").items()}
    assert {name for name, text in named.items() if text not in sent} == set()


def test_only_claims_pass_over_what_others_hold(recorder: Recorder) -> None:
    found = set()
    for text in recorder.sent:
        for table in parse(Statement("sent", text))[0].all("NamedTableReference"):
            hints = frozenset(str(hint.HintKind) for hint in table.TableHints)
            if "ReadPast" in hints:
                found.add((name_of(table.SchemaObject), hints))
    assert found == {(("memory", "Tasks"), CLAIM)}


def test_every_procedure_was_called(recorder: Recorder) -> None:
    scripts = [parse(text)[0] for text in migration_texts()]
    names = {
        str(node.ProcedureReference.Name.BaseIdentifier.Value)
        for script in scripts
        for node in script.all("CreateProcedureStatement")
    }
    assert names - recorder.called == set()


def test_parameters_are_of_types_that_drivers_bind_alike(recorder: Recorder) -> None:
    """No datetime: drivers differ in how many of its digits they keep."""
    types = {name for sent in recorder.sent.values() for each in sent for name in each}
    binary = {"bytearray", "NullParam"}
    assert types <= {"bool", "int", "str", "float", "NoneType"} | binary


def test_what_makes_a_database_for_the_exam_passes_too(schema: Catalogue) -> None:
    texts = [text.format("exam_1") for text in (CREATE, ALONE, DROP)]
    assert check([Statement("exam", text) for text in texts], schema) == []
