"""What is asked of time through the API: requests for later, their ends, and rewinds."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

from retrograph.app import create_app
from retrograph.resolvers.inputs import NodeInput
from retrograph.resolvers.sweep import Sweeper
from retrograph.rules.instant import format_instant
from retrograph.storage.store import Store
from tests.clock import ManualClock
from tests.memory import NEW, Memory
from tests.schema.serving import Answer, Served, serving
from tests.schema.tokens import bearer, tokens

FELL = """mutation ($at: DateTime, $root: String!) { invalidate(input: {fleetId: 1,
    root: {key: $root}, reason: "wrong", effectiveAt: $at}) { __typename
    ... on ScheduledInvalidation { id status effect reason effectiveAt settledAt root { key } }
    ... on InvalidationRun { id root { key } }
    ... on UserError { code path } } }"""
CANCEL = """mutation ($id: ID!) { cancelScheduledInvalidation(input: {fleetId: 1, id: $id}) {
    __typename ... on ScheduledInvalidation { id status } ... on UserError { code path } } }"""
LIST = """query ($status: [ScheduleStatus!], $at: DateTime) { scheduledInvalidations(fleetId: 1,
    status: $status, asOf: $at) { nodes { id status failureCode run { reason effectiveAt } } } }"""
REWIND = """mutation ($to: DateTime!, $dry: Boolean! = true, $confirm: String) {
    rewindFleet(input: {fleetId: 1, to: $to, dryRun: $dry, confirm: $confirm, reason: "oops"}) {
    __typename ... on FleetRewound { instant to dryRun confirmation tasksCancelled tasksOpened
        nodes { removed restored returned } edges { removed } contents { removed }
        evidence { removed } }
    ... on UserError { code path message } } }"""
HOUR = 3_600_000_000


def only(answer: Answer) -> Any:
    (payload,) = answer.data.values()
    return payload


def test_a_request_for_later_waits_is_listed_and_is_run(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    at = format_instant(clock.now + HOUR)
    asked = only(served.ask(FELL, root="a", at=at))
    assert asked | {"id": None} == {
        "__typename": "ScheduledInvalidation",
        "id": None,
        "status": "PENDING",
        "effect": "INVALID",
        "reason": "wrong",
        "effectiveAt": at,
        "settledAt": None,
        "root": {"key": "a"},
    }
    before = format_instant(chain.scope.clock(1))
    clock.advance(2 * HOUR)
    Sweeper(chain.store).step()
    (row,) = only(served.ask(LIST, status=["EXECUTED"]))["nodes"]
    assert row["run"] == {"reason": "wrong", "effectiveAt": at}
    (row,) = only(served.ask(LIST, at=before))["nodes"]
    assert (row["status"], row["run"]) == ("PENDING", None)
    assert only(served.ask(LIST, status=["PENDING"]))["nodes"] == []
    settled = only(served.ask(CANCEL, id=asked["id"]))
    assert settled == {
        "__typename": "ScheduleSettled",
        "code": "SCHEDULE_SETTLED",
        "path": ["input", "id"],
    }


def test_a_request_for_later_can_be_cancelled(
    served: Served, chain: Memory, clock: ManualClock
) -> None:
    asked = only(served.ask(FELL, root="a", at=format_instant(clock.now + HOUR)))
    done = only(served.ask(CANCEL, id=asked["id"]))
    assert (done["id"], done["status"]) == (asked["id"], "CANCELLED")
    assert only(served.ask(CANCEL, id="77"))["code"] == "NOT_FOUND"
    assert chain.sick() == {}


def test_a_rewind_takes_a_dry_run_and_its_words(served: Served, chain: Memory) -> None:
    to = format_instant(chain.scope.clock(1))
    run = only(served.ask(FELL, root="a"))
    told = only(served.ask(REWIND, to=to))
    assert (told["dryRun"], told["nodes"]["restored"]) == (True, 5)
    refused = only(served.ask(REWIND, to=to, dry=False))
    assert (refused["__typename"], refused["code"]) == ("InvalidInput", "NOT_CONFIRMED")
    assert len(chain.sick()) == 5
    done = only(served.ask(REWIND, to=to, dry=False, confirm=told["confirmation"]))
    assert done["nodes"] == told["nodes"]
    assert chain.sick() == {}
    again = served.ask(f'{{ invalidationRun(fleetId: 1, id: "{run["id"]}") {{ status }} }}')
    assert only(again) == {"status": "APPLIED"}


def test_nodes_that_left_the_present_are_shown_as_they_last_were(
    served: Served, memory: Memory
) -> None:
    to = format_instant(memory.scope.clock(1))
    memory.put(NodeInput("a", kind=NEW, payload=1), NodeInput("b", kind=NEW))
    memory.link("a REQUIRES b")
    run = memory.fell("a")
    told = only(served.ask(REWIND, to=to))
    only(served.ask(REWIND, to=to, dry=False, confirm=told["confirmation"]))
    query = f"""{{ invalidationRun(fleetId: 1, id: "{run.id}") {{ root {{ key payload asOf }}
        impacts {{ nodes {{ node {{ key validity asOf }} }} }} }} }}"""
    shown = only(served.ask(query))
    last = format_instant(run.executed_at)
    assert shown["root"] == {"key": "a", "payload": 1, "asOf": last}
    assert [each["node"] for each in shown["impacts"]["nodes"]] == [
        {"key": "a", "validity": "INVALID", "asOf": last},
        {"key": "b", "validity": "INVALID", "asOf": last},
    ]
    undone = served.ask(
        f"""mutation {{ revertRun(input: {{fleetId: 1, runId: "{run.id}"}}) {{
        ... on RunReverted {{ restoredIds leftAlone {{ key }} run {{ root {{ key }} }} }} }} }}"""
    )
    assert only(undone) == {
        "restoredIds": [],
        "leftAlone": [{"key": "a"}, {"key": "b"}],
        "run": {"root": {"key": "a"}},
    }


def test_only_an_administrator_may_rewind(store: Store, memory: Memory) -> None:
    variables = {"to": format_instant(memory.scope.clock(1))}
    with serving(create_app(store, identify=tokens())) as served:
        for role, allowed in (("CONTROLLER", False), ("WORKER", False), ("ADMIN", True)):
            answer = served.client.post(
                "/graphql",
                json={"query": REWIND, "variables": variables},
                headers=bearer(roles=[role]),
            ).json()
            assert ("errors" not in answer) is allowed


def test_a_serving_process_sweeps_and_leaves_the_lead_at_its_end(
    store: Store, memory: Memory, clock: ManualClock
) -> None:
    told: SimpleQueue[int] = SimpleQueue()
    memory.put(NodeInput("a", kind=NEW, expires_at=clock.now + 1))
    clock.advance()
    store.listen(lambda *what: told.put(what[2]))
    with serving(create_app(store, sweep_seconds=0.01)) as served:
        while told.empty():
            served.ask("{ viewer { tenantId } }")
    assert memory.sick() == {"a": "INVALID"}
    assert Sweeper(store).step() is not None
