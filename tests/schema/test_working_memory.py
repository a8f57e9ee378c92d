"""Working memory over HTTP: what is asked, what is answered, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.serving import Served

UPDATE = """mutation ($input: UpdateWorkingMemoryInput!) { updateWorkingMemory(input: $input) {
  __typename
  ... on WorkingMemoryUpdated { instant memory {
    version tokens evictions { kind observation register } } }
  ... on MemoryConflict { current } ... on BudgetExceeded { tokens budget }
  ... on UserError { code path } } }"""
READ = """query ($asOf: DateTime) { workingMemory(fleetId: 1, sessionId: "s", asOf: $asOf) {
  sessionId version budget goal subGoal hypotheses { id text parent status confidence }
  registers { name value pinned } observations { number tool text summary }
  rendered updatedAt asOf } }"""


def update(served: Served, **given: Any) -> Any:
    answer = served.ask(UPDATE, input={"fleetId": "1", "sessionId": "s", **given})
    return answer.data["updateWorkingMemory"]


def test_a_session_from_its_beginning(served: Served) -> None:
    assert served.ask(READ).data == {"workingMemory": None}
    first = update(
        served,
        goal="Pay",
        subGoal="Find",
        hypotheses=[{"id": "h", "text": "lost", "confidence": 0.5}],
        registers=[{"name": "id", "value": {"n": 7}, "pinned": True}, {"name": "empty"}],
        observations=[{"tool": "ls", "text": "a"}],
    )
    assert first["memory"]["version"] == 1
    second = update(served, goal=None, expectedVersion=1, dropRegisters=["EMPTY"])
    shown = served.ask(READ, asOf=first["instant"]).data["workingMemory"]
    assert shown == {
        "sessionId": "s",
        "version": 1,
        "budget": 4000,
        "goal": "Pay",
        "subGoal": "Find",
        "hypotheses": [
            {"id": "h", "text": "lost", "parent": None, "status": "OPEN", "confidence": 0.5}
        ],
        "registers": [
            {"name": "id", "value": {"n": 7}, "pinned": True},
            {"name": "empty", "value": None, "pinned": False},
        ],
        "observations": [{"number": 1, "tool": "ls", "text": "a", "summary": False}],
        "rendered": (
            "# Goal\n- Pay\n# Sub-goal\n- Find\n# Hypotheses\n- [OPEN 0.5] h: lost\n"
            '# Registers\n- id (pinned) = {"n":7}\n- empty = null\n# Observations\n- 1 ls: a\n'
        ),
        "updatedAt": first["instant"],
        "asOf": first["instant"],
    }
    now = served.ask(READ).data["workingMemory"]
    assert (now["goal"], now["subGoal"], len(now["registers"])) == (None, "Find", 1)
    assert now["updatedAt"] == second["instant"]


def test_evictions_are_told(served: Served) -> None:
    update(served, budget=100, observations=[{"tool": "t", "text": "x" * 340}])
    told = update(served, registers=[{"name": "R", "value": "y" * 40}])
    assert told["memory"]["evictions"] == [
        {"kind": "SUMMARIZED", "observation": 1, "register": None}
    ]
    assert told["memory"]["tokens"] <= 100


def test_a_pin_alone_leaves_the_value(served: Served) -> None:
    update(served, registers=[{"name": "iban", "value": "DE123"}])
    update(served, registers=[{"name": "iban", "pinned": True}])
    now = served.ask(READ).data["workingMemory"]
    assert now["registers"] == [{"name": "iban", "value": "DE123", "pinned": True}]


def test_null_is_a_value_that_the_schema_promises(served: Served) -> None:
    """Written as null it is null, over another value, too; a client's types allow for it."""
    update(served, registers=[{"name": "left", "value": 7}])
    update(served, registers=[{"name": "left", "value": None}])
    now = served.ask(READ).data["workingMemory"]
    assert now["registers"] == [{"name": "left", "value": None, "pinned": False}]
    asked = '{ __type(name: "MemoryRegister") { fields { name type { kind } } } }'
    fields = served.ask(asked).data["__type"]["fields"]
    kinds = {each["name"]: each["type"]["kind"] for each in fields}
    assert kinds == {"name": "NON_NULL", "pinned": "NON_NULL", "value": "SCALAR"}


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"expectedVersion": 3}, {"__typename": "MemoryConflict", "current": 0,
         "code": "MEMORY_CONFLICT", "path": ["input", "expectedVersion"]}),
        ({"goal": "x" * 400, "budget": 9}, {"__typename": "BudgetExceeded", "tokens": 103,
         "budget": 9, "code": "BUDGET_EXCEEDED", "path": ["input"]}),
        ({"fleetId": "5"}, {"__typename": "NotFound", "code": "NOT_FOUND",
         "path": ["input", "fleetId"]}),
        ({"registers": [{"name": ""}]}, {"__typename": "InvalidInput", "code": "BAD_USER_INPUT",
         "path": ["input", "registers", "0", "name"]}),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(served: Served, given: Any, answer: Any) -> None:
    assert update(served, **given) == answer
