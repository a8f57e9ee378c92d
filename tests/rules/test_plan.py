"""The fingerprint of a plan."""

from __future__ import annotations

from hashlib import sha256

from retrograph.rules.cascade import Seeds, cascade
from retrograph.rules.edge_type import EdgeType
from retrograph.rules.graph import Graph
from retrograph.rules.plan import plan_hash
from retrograph.rules.validity import Validity

GRAPH = Graph.build(
    [(5, 1, 1, 0), (-3, 6, 6, 0), (40, 1, 1, 1)],
    [(5, 40, EdgeType.DERIVED_FROM), (40, -3, EdgeType.OBSERVED_FROM)],
)


def test_is_the_hash_of_the_documented_text() -> None:
    found = cascade(GRAPH, Seeds(roots={5: Validity.INVALID}))

    assert plan_hash(found) == sha256(b"-3 6 2\n5 1 4\n40 1 3\n").hexdigest()


def test_of_no_impact_is_the_hash_of_nothing() -> None:
    assert plan_hash(cascade(GRAPH, Seeds())) == sha256(b"").hexdigest()


def test_differs_where_the_effect_does() -> None:
    invalid = cascade(GRAPH, Seeds(roots={5: Validity.INVALID}))
    superseded = cascade(GRAPH, Seeds(roots={5: Validity.SUPERSEDED}))

    assert plan_hash(invalid) != plan_hash(superseded)
