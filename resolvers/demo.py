"""The demo: a week in the memory of an agent that checks energy invoices.

The agent reads customers from a CRM, meter readings from a metering API and invoices from a
billing API, and concludes which invoices to pay.  All of it goes through the same use cases as
anybody's writes, under a clock that steps through the week.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from retrograph.resolvers.add_evidence import add_evidence
from retrograph.resolvers.demo_data import (
    BILLS,
    NEW_TARIFF,
    OLD_TARIFF,
    RULES,
    TARIFFS,
    TOLERANCE_CENTS,
    Bill,
    Tariff,
    expected_cents,
)
from retrograph.resolvers.inputs import (
    UNSET,
    EdgeInput,
    Invalidation,
    NodeInput,
    OnChange,
    Supersession,
)
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.link_nodes import link_nodes
from retrograph.resolvers.pin_node import pin_node
from retrograph.resolvers.put_nodes import put_nodes
from retrograph.resolvers.revert_run import revert_run
from retrograph.resolvers.scope import Role, Scope
from retrograph.resolvers.supersede import supersede
from retrograph.rules.canonical_json import canonical_json
from retrograph.rules.edge_type import EdgeType
from retrograph.storage.records import NodeKind, NodeRef
from retrograph.storage.store import open_store

FLEET = 1
HOUR = 3_600_000_000
"""Microseconds."""
WEEK = 7 * 24 * HOUR
CORRECTION = "The regulator corrected the tariff; it holds from the start of the year."
"""The reason of the run that replaces the tariff."""

_BELIEF = "belief:4714-moved-in-january"


def make_demo(database: Path, now: int, tenant_id: int = 1) -> None:
    """Makes a new database with the demo's week, which ends an hour before `now`.

    The file is there when the demo is complete, and not before; a link leads on to the file that
    it names.
    """
    database = database.resolve()
    partial = database.with_name(f"{database.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        fill_with_demo(str(partial), now, tenant_id)
        partial.replace(database)
    finally:
        partial.unlink(missing_ok=True)


def fill_with_demo(database: str, now: int, tenant_id: int = 1) -> bool:
    """Makes the demo's fleet in a database, by many writes; returns False if the fleet is there."""
    clock = _Clock(now - WEEK)
    store = open_store(database, clock=clock)
    try:
        missing = FLEET not in store.fleet_ids(tenant_id)
        if missing:
            store.write_all(tenant_id, [FLEET], lambda _: None)
            _tell(_Agent(Scope(store, tenant_id, None, frozenset(Role)), clock))
        return missing
    finally:
        store.close()


class _Clock:
    """Tells the demo's time."""

    def __init__(self, start: int) -> None:
        self.start = self.now = start

    def __call__(self) -> int:
        return self.now


class _Agent:
    """Writes as an agent would, at the hours of the story."""

    def __init__(self, scope: Scope, clock: _Clock) -> None:
        self.scope, self._clock = scope, clock

    def at_hour(self, hour: float) -> None:
        """Moves the clock to an hour of the week."""
        self._clock.now = self._clock.start + int(hour * HOUR)

    def learn(
        self,
        key: str,
        payload: object,
        *sources: tuple[EdgeType, str],
        kind: NodeKind = NodeKind.ASSERTION,
        confidence: float = 1.0,
    ) -> None:
        """Puts a node and links it to what it depends on."""
        put_nodes(self.scope, FLEET, [_input(key, payload, kind, confidence)], OnChange.PROPAGATE)
        self.link(key, sources)

    def link(self, key: str, sources: Iterable[tuple[EdgeType, str]]) -> None:
        """Lets a node depend on others."""
        target = NodeRef(key=key)
        edges = [EdgeInput(NodeRef(key=source), target, type) for type, source in sources]
        if edges:
            link_nodes(self.scope, FLEET, edges)

    def replace(self, old: str, new: str, payload: object, reason: str, kind: NodeKind) -> None:
        """Puts a node in another's place."""
        request = Supersession(NodeRef(key=old), _input(new, payload, kind), reason)
        supersede(self.scope, FLEET, request)

    def drop(self, key: str, reason: str) -> None:
        """Invalidates a node."""
        invalidate(self.scope, FLEET, Invalidation(NodeRef(key=key), reason))

    def prove(self, key: str, uri: str, note: str) -> None:
        """Hangs evidence on a node."""
        add_evidence(self.scope, FLEET, NodeRef(key=key), uri, note)


def _tell(agent: _Agent) -> None:
    _read_contracts(agent, hour=0)
    _read_customers(agent, hour=2)
    _read_meters(agent, hour=24)
    for bill in BILLS:
        _judge(agent, bill, TARIFFS[OLD_TARIFF], hour=48 + BILLS.index(bill) / 4)
    _report(agent, "report:month", OLD_TARIFF, hour=50)
    _believe(agent, hour=52)
    _correct_tariff(agent, hour=84)
    _report(agent, "report:month@corrected", NEW_TARIFF, hour=87)
    _contradict_reading(agent, hour=118)
    _change_contract(agent, hour=140)
    agent.at_hour(167)
    agent.prove(
        "decision:9003@corrected", "mailto:billing@supplier.example", "Asked for a new invoice."
    )


def _read_contracts(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    for key, payload in RULES.items():
        agent.learn(key, payload, kind=NodeKind.RULE)
    tariff = TARIFFS[OLD_TARIFF]
    agent.learn(tariff.key, _tariff_payload(tariff), kind=NodeKind.RULE)


def _read_customers(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    observed = (EdgeType.OBSERVED_FROM, "contract:crm/v3")
    for bill in BILLS:
        agent.learn(f"account:{bill.customer}", {"name": bill.name}, observed)
        agent.learn(f"meter:{bill.meter}", {"customer": bill.customer}, observed)


def _read_meters(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    observed = (EdgeType.OBSERVED_FROM, "contract:metering/v2")
    for bill in BILLS:
        for moment, value in (("start", bill.start), ("end", bill.end)):
            agent.learn(f"reading:{bill.meter}:{moment}", {"kwh": value}, observed)
        agent.learn(
            f"usage:{bill.customer}",
            {"kwh": bill.usage},
            (EdgeType.DERIVED_FROM, f"reading:{bill.meter}:start"),
            (EdgeType.DERIVED_FROM, f"reading:{bill.meter}:end"),
            (EdgeType.REQUIRES, f"meter:{bill.meter}"),
        )
    agent.learn(
        "belief:M-93-works",
        "The meter M-93 counts correctly.",
        (EdgeType.SUPPORTED_BY, "reading:M-93:end"),
        confidence=0.9,
    )
    agent.learn("inspection:M-93", {"found": "in order", "by": "field service"})
    agent.link("belief:M-93-works", [(EdgeType.SUPPORTED_BY, "inspection:M-93")])


def _judge(agent: _Agent, bill: Bill, tariff: Tariff, hour: float) -> None:
    """Expects, compares and decides; a second judgement has keys of its own."""
    agent.at_hour(hour)
    mark, invoice = _mark(tariff.key), f"invoice:{bill.invoice}"
    expected = expected_cents(bill, tariff)
    agrees = abs(expected - bill.due) <= TOLERANCE_CENTS
    if not mark:
        agent.learn(invoice, {"cents": bill.due}, (EdgeType.OBSERVED_FROM, "contract:billing/v5"))
        agent.prove(invoice, f"https://billing.example/{bill.invoice}.pdf", "The invoice itself.")
    agent.learn(
        f"expected:{bill.customer}{mark}",
        {"cents": expected},
        (EdgeType.DERIVED_FROM, f"usage:{bill.customer}"),
        (EdgeType.VALID_ONLY_WHEN, tariff.key),
        (EdgeType.VALID_ONLY_WHEN, "rule:vat"),
    )
    agent.learn(
        f"comparison:{bill.invoice}{mark}",
        {"agrees": agrees, "cents": bill.due - expected},
        (EdgeType.DERIVED_FROM, invoice),
        (EdgeType.REQUIRES, f"expected:{bill.customer}{mark}"),
        (EdgeType.VALID_ONLY_WHEN, "rule:tolerance"),
        confidence=0.95,
    )
    agent.learn(
        f"decision:{bill.invoice}{mark}",
        "pay" if agrees else "dispute",
        (EdgeType.REQUIRES, f"comparison:{bill.invoice}{mark}"),
        (EdgeType.DERIVED_FROM, f"account:{bill.customer}"),
        confidence=0.9,
    )


def _report(agent: _Agent, key: str, tariff: str, hour: float) -> None:
    agent.at_hour(hour)
    decisions = [f"decision:{bill.invoice}{_mark(tariff)}" for bill in BILLS]
    agent.learn(
        key,
        {"invoices": [bill.invoice for bill in BILLS]},
        *((EdgeType.SUPPORTED_BY, decision) for decision in decisions),
    )
    agent.learn(
        key.replace("report", "total"),
        {"cents": sum(bill.due for bill in BILLS)},
        *((EdgeType.DERIVED_FROM, decision) for decision in decisions),
    )


def _believe(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    agent.learn(
        _BELIEF,
        "A. Okafor moved in in January, so no month is missing.",
        (EdgeType.OBSERVED_FROM, "account:4714"),
        confidence=0.6,
    )
    agent.learn("history:4714-complete", True, (EdgeType.DERIVED_FROM, _BELIEF), confidence=0.6)
    pin_node(agent.scope, FLEET, NodeRef(key=_BELIEF), pinned=True, reason="She said so herself.")


def _correct_tariff(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    tariff = TARIFFS[NEW_TARIFF]
    agent.replace(OLD_TARIFF, NEW_TARIFF, _tariff_payload(tariff), CORRECTION, NodeKind.RULE)
    agent.prove(NEW_TARIFF, "https://regulator.example/2026/17", "The order of the regulator.")
    for bill in BILLS:
        _judge(agent, bill, tariff, hour + 1 + BILLS.index(bill) / 4)


def _contradict_reading(agent: _Agent, hour: float) -> None:
    agent.at_hour(hour)
    agent.learn("reading:M-93:photo", {"kwh": 61_408}, confidence=0.98)
    agent.prove("reading:M-93:photo", "https://photos.example/m-93.jpg", "Taken on site.")
    agent.link("reading:M-93:end", [(EdgeType.CONTRADICTS, "reading:M-93:photo")])
    agent.at_hour(hour + 1)
    agent.drop("reading:M-93:end", "The photo of the meter shows 61,408 kWh, not 64,408.")


def _change_contract(agent: _Agent, hour: float) -> None:
    """A changed contract casts doubt on all that was read by it, until somebody looks."""
    agent.at_hour(hour)
    key = "contract:crm/v3"
    payload = {**RULES[key], "adds": ["email"]}
    changed = [_input(key, payload, NodeKind.RULE)]
    (run,) = put_nodes(agent.scope, FLEET, changed, OnChange.PROPAGATE).runs
    agent.at_hour(hour + 3)
    revert_run(agent.scope, FLEET, run.id, "The contract only adds a field that nobody reads.")


def _mark(tariff: str) -> str:
    return "@corrected" if tariff == NEW_TARIFF else ""


def _tariff_payload(tariff: Tariff) -> dict[str, int]:
    return {"hundredthsOfACentPerKwh": tariff.price, "baseCentsPerMonth": tariff.base}


def _input(key: str, payload: object, kind: NodeKind, confidence: float = 1.0) -> NodeInput:
    digest = hashlib.sha256(canonical_json(payload).encode()).hexdigest()
    return NodeInput(
        key=key,
        kind=kind,
        payload=payload,
        contract_hash=digest if kind is NodeKind.RULE else UNSET,
        confidence=confidence,
    )
