"""docs/checkpoints.md: its code works, and its tables and codes are true."""

from __future__ import annotations

import re

from retrograph.rules import checkpoint_errors as errors
from retrograph.rules.chain import ChainFaultKind
from retrograph.rules.upcasting import Upcasters
from retrograph.schema.checkpoint_inputs import CommitCheckpointInput
from retrograph.upcaster_loading import GROUP
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "checkpoints.md").read_text()
NAMED = set(re.findall(r"`(\w+)`", PAGE))


def test_its_upcaster_works() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found: dict[str, object] = {}
    exec(code, found)  # the page's own code
    upcasters: object = found["UPCASTERS"]
    assert isinstance(upcasters, list)
    assert Upcasters(upcasters).upcast("1", '{"step":1}') == ("2", '{"steps":[1]}')


def test_it_names_every_fault_and_refusal() -> None:
    codes = {
        errors.CheckpointRemoved.code,
        errors.CheckpointDamaged.code,
        errors.StepKeyReused.code,
        errors.UnknownSchemaVersion.code,
        errors.UpcastFailed.code,
    }
    assert {each.name for each in ChainFaultKind} | codes <= NAMED
    assert f"`{GROUP}`" in PAGE


def test_it_tells_what_a_commit_takes() -> None:
    taken = {
        re.sub(r"_(\w)", lambda found: found[1].upper(), name)
        for name in CommitCheckpointInput.__annotations__
    }
    assert taken - {"fleetId", "executionId", "sessionId", "payload"} <= NAMED
