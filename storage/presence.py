"""Whether an id is a node of the fleet at the instant: it is while a version of its state is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, literal_column, or_, select

from retrograph.storage.as_of import Arm
from retrograph.storage.prepared import Frame, within_scope
from retrograph.storage.tables import node_state

Conditions = Callable[[Arm], Iterable[ColumnElement[bool]]]


def no_conditions(arm: Arm) -> Sequence[ColumnElement[bool]]:  # noqa: ARG001 (a `Conditions`)
    """Any state will do."""
    return ()


def is_node(
    frame: Frame, key: ColumnElement[int], where: Conditions = no_conditions
) -> ColumnElement[bool]:
    """The condition that `key` is a node at the instant, in a state for which `where` holds."""
    arms = frame.keyed_arms(node_state, key)
    return or_(*(_found(arm).where(*where(arm)).exists() for arm in arms))


def _found(arm: Arm) -> Select[Any]:
    return (
        select(literal_column("1")).select_from(arm.table).where(*arm.visible, *within_scope(arm))
    )
