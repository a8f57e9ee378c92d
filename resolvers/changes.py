"""Reads what changed between two instants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from retrograph.resolvers.scope import Scope
from retrograph.rules.errors import BeyondRetention, InstantInFuture, InvalidInput
from retrograph.rules.limits import check_first
from retrograph.storage.changes import Position, page_changes
from retrograph.storage.records import ChangeRecord, Page


def list_changes(
    scope: Scope,
    fleet_id: int,
    since: int,
    until: int | None,
    first: int,
    after: Position | None = None,
) -> Page[ChangeRecord]:
    """A page of what changed after `since` and up to `until` (None: the last committed instant).

    Raises `InvalidInput` where `since` is later than `until`.
    """
    check_first(first)
    with _told_of("from"), scope.snapshot(fleet_id, since):
        pass  # only whether it lies in the future, or too long ago
    if until is not None and since > until:
        raise InvalidInput(
            "`from` is later than `to`; give the earlier one as `from`.", path=("from",)
        )
    with _told_of("to"), scope.snapshot(fleet_id, until) as snapshot:
        return page_changes(snapshot, since, first, after)


@contextmanager
def _told_of(field: str) -> Iterator[None]:
    """Names the field in which an instant was given that can't be read at."""
    try:
        yield
    except (InstantInFuture, BeyondRetention) as error:
        raise type(error)(error.message, path=(field,)) from error
