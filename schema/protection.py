"""What protects a server from what it is asked, as far as its operator decides it."""

from __future__ import annotations

from dataclasses import dataclass

from graphql import GraphQLError

from retrograph.rules.limits import MAX_COST, MAX_PAYLOAD_BYTES, OPERATION_SECONDS
from retrograph.schema.limits import MAX_ITEMS, too_complex
from retrograph.schema.persisted import PersistedDocuments


@dataclass(frozen=True, slots=True)
class Protection:
    """The limits that are settings.

    `max_cost` is what one operation may cost (see `cost`), `seconds` how long it may take;
    `introspection` tells whether the schema may be asked for. With a list of `documents` no other
    is executed. A checkpoint that is committed has at most `checkpoint_bytes`.
    """

    max_cost: int = MAX_COST
    seconds: float = OPERATION_SECONDS
    introspection: bool = True
    documents: PersistedDocuments | None = None
    checkpoint_bytes: int = MAX_PAYLOAD_BYTES

    def check(self, introspects: bool, cost: int, items: int) -> GraphQLError | None:
        """The error of an operation that asks for the schema, costs too much or gives too much."""
        if introspects and not self.introspection:
            return GraphQLError(
                "This server doesn't tell its schema; its operator can.",
                extensions={"code": "INTROSPECTION_DISABLED"},
            )
        if items > MAX_ITEMS:
            return too_complex(f"The lists hold {items:,} items; at most {MAX_ITEMS:,} are taken.")
        if cost > self.max_cost:
            return too_complex(
                f"The operation costs {cost:,}; at most {self.max_cost:,} is taken. Ask for "
                "smaller pages or fewer fields."
            )
        return None


DEFAULT_PROTECTION = Protection()
