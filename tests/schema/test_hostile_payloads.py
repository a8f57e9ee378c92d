"""However a payload is spelt: it is refused, or stored, given back and verified."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograph.resolvers.checkpoints import get_checkpoint
from retrograph.resolvers.verify_checkpoints import verify_checkpoints
from tests.memory import Memory
from tests.schema.serving import Served

NUMBERS = count()
LARGEST = 2**53 - 1
DOCUMENT = (
    "mutation ($input: CommitCheckpointInput!) { commitCheckpoint(input: $input) { __typename "
    "... on CheckpointCommitted { checkpoint { payload hash } } } }"
)

digits = st.text("0123456789", min_size=1, max_size=20)
near = st.integers(LARGEST - 3, LARGEST + 3).map(str)
whole = st.one_of(near, digits.map(lambda text: text.lstrip("0") or "0"))
numbers = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    whole,
    st.one_of(st.just(""), digits.map(".{}".format), st.just(".0")),
    st.one_of(st.just(""), st.integers(-25, 310).map("e{}".format), st.just("E+0")),
)
units = st.integers(0, 0xFFFF) | st.sampled_from([0, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xFFFF, 0x22])
strings = st.lists(units, max_size=4).map(
    lambda found: '"{}"'.format("".join(f"\\u{each:04x}" for each in found))
)
keys = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"\\u00e9"', '"e\\u0301"']) | strings
words = st.sampled_from(["null", "true", "NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1."])
leaves = st.one_of(numbers, numbers, strings, words)
texts = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: f"[{','.join(found)}]"),
        st.lists(st.tuples(keys, inner), max_size=3).map(
            lambda found: "{{{}}}".format(",".join(f"{key}:{value}" for key, value in found))
        ),
        st.builds(
            lambda depth, text: "[" * depth + text + "]" * depth, st.integers(195, 205), inner
        ),
    ),
    max_leaves=6,
)


def unsafe(value: Any) -> bool:
    """Whether a number in it is integral beyond 2^53 - 1, or no number."""
    if isinstance(value, dict):
        return any(map(unsafe, value.values()))
    if isinstance(value, list):
        return any(map(unsafe, value))
    return isinstance(value, int | float) and not abs(value) <= LARGEST


@settings(max_examples=150)
@given(payload=texts)
def test_a_payload_is_refused_or_verifies(served: Served, memory: Memory, payload: str) -> None:
    name = f"run {next(NUMBERS)}"
    given = (
        f'{{"fleetId": 1, "executionId": "{name}", "sessionId": "s", "expectedSequence": 0, '
        f'"stateNode": "n", "schemaVersion": "1", "idempotencyToken": "t", "payload": {payload}}}'
    )
    body = f'{{"query": "{DOCUMENT}", "variables": {{"input": {given}}}}}'
    headers = {"content-type": "application/json"}
    answer = served.client.post("/graphql", content=body.encode(), headers=headers)
    assert answer.status_code < 500
    told, head = answer.json(), get_checkpoint(memory.scope, 1, name)
    if head is None:
        assert "errors" in told or told["data"]["commitCheckpoint"]["__typename"] == "InvalidInput"
        return
    shown = told["data"]["commitCheckpoint"]["checkpoint"]
    asked = json.loads(payload)
    assert not unsafe(asked)
    assert head.payload.encode() == rfc8785.dumps(asked)
    assert rfc8785.dumps(shown["payload"]) == head.payload.encode()
    found = verify_checkpoints(memory.scope, 1, name)
    assert found.fault is None
    assert found.head is not None
    assert found.head.hash == shown["hash"]
