"""What the exam of the use cases starts from, and what must hold after each of its tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retrograph.resolvers.scope import Scope
from tests.consistency import assert_consistent
from tests.memory import Memory


@pytest.fixture
def memory(scope: Scope) -> Iterator[Memory]:
    """Fleet 1, empty; whatever a test does to it, its tables must agree afterwards."""
    yield Memory(scope)
    assert_consistent(scope.store)
