"""The hash of a checkpoint is what anybody would compute from its fields."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from retrograph.rules.canonical_json import MAX_SAFE_INTEGER, canonical_json
from retrograph.rules.checkpoint import Link, checkpoint_hash
from retrograph.rules.instant import EARLIEST, LATEST, format_instant

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
IDS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.floats(-1e15, 1e15)
PAYLOADS = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS.filter(lambda text: "\0" not in text),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS.filter(lambda text: "\0" not in text), inner, max_size=4)
    ),
    max_leaves=10,
)
LINK = Link(1, 2, "run", "s", 3, "plan", "1", b'{"a":1}', "t", (4, 5), 6, "0" * 64)


@given(
    st.tuples(IDS, IDS, TEXTS, TEXTS, IDS, TEXTS, TEXTS),
    PAYLOADS,
    TEXTS,
    st.lists(IDS, max_size=5),
    st.integers(EARLIEST, LATEST),
    st.none() | st.just("0" * 64),
)
def test_the_hash_is_that_of_the_canonical_object(
    begin: Any, payload: Any, token: str, ids: list[int], at: int, previous: str | None
) -> None:
    text, based_on = canonical_json(payload).encode(), tuple(sorted(ids))
    tenant, fleet, execution, session, sequence, state, version = begin
    told = {
        "tenantId": str(tenant), "fleetId": str(fleet), "executionId": execution,
        "sessionId": session, "sequence": str(sequence), "stateNode": state,
        "schemaVersion": version, "payload": json.loads(text), "idempotencyToken": token,
        "basedOn": [str(each) for each in based_on], "committedAt": format_instant(at),
        "previousHash": previous,
    }  # fmt: skip
    wanted = hashlib.sha256(rfc8785.dumps(told)).hexdigest()
    rest: Any = (text, token, based_on, at, previous)
    assert checkpoint_hash(Link(*begin, *rest)) == wanted


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tenant_id", 9),
        ("fleet_id", 9),
        ("execution_id", "other"),
        ("session_id", "other"),
        ("sequence", 4),
        ("state_node", "other"),
        ("schema_version", "2"),
        ("payload", b'{"a":2}'),
        ("idempotency_token", "u"),
        ("based_on", (4,)),
        ("committed_at", 7),
        ("previous_hash", None),
    ],
)
def test_every_field_is_in_the_hash(field: str, value: Any) -> None:
    assert checkpoint_hash(LINK._replace(**{field: value})) != checkpoint_hash(LINK)


@pytest.mark.parametrize(
    "broken", [{"state_node": "\ud800"}, {"committed_at": LATEST + 1}], ids=["surrogate", "instant"]
)
def test_what_no_checkpoint_can_hold_has_no_hash(broken: Any) -> None:
    with pytest.raises(ValueError, match=r"canonical|instant"):
        checkpoint_hash(LINK._replace(**broken))
