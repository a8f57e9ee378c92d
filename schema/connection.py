"""Keyset connections by the Relay cursor specification.

A connection is made of a page that storage has read; cursors are written when `edges` or
`pageInfo` ask for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import strawberry

from retrograph.schema.scalars import DateTime
from retrograph.storage.records import Page

Node = TypeVar("Node")
Row = TypeVar("Row")


@strawberry.type(description="Where a page lies in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Whether rows follow this page.")
    has_previous_page: bool = strawberry.field(
        description="Whether the page goes on behind a cursor."
    )
    start_cursor: str | None = strawberry.field(
        description="The cursor of the first row; null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="The cursor of the last row, to go on behind; null on an empty page."
    )


@strawberry.type(description="A row of a page with its cursor.")
class Edge(Generic[Node]):
    cursor: str = strawberry.field(description="To go on behind this row, as `after`.")
    node: Node = strawberry.field(description="The row itself.")


@strawberry.type(description="One page of a list.")
class Connection(Generic[Node]):
    nodes: list[Node] = strawberry.field(description="The rows of the page, in order.")
    as_of: DateTime = strawberry.field(description="The instant the page was read at.")
    cursor_at: strawberry.Private[Callable[[int], str]]
    has_next: strawberry.Private[bool]
    has_previous: strawberry.Private[bool]

    @strawberry.field(description="The rows of the page with their cursors, in order.")
    def edges(self) -> list[Edge[Node]]:
        return [
            Edge(cursor=self.cursor_at(place), node=node) for place, node in enumerate(self.nodes)
        ]

    @strawberry.field(description="Where the page lies in its list.")
    def page_info(self) -> PageInfo:
        count = len(self.nodes)
        return PageInfo(
            has_next_page=self.has_next,
            has_previous_page=self.has_previous,
            start_cursor=self.cursor_at(0) if count else None,
            end_cursor=self.cursor_at(count - 1) if count else None,
        )


@strawberry.type(name="Connection", description="One page of what a search has found.")
class SearchConnection(Connection[Node], Generic[Node]):
    truncated: bool = strawberry.field(
        description="Whether the search gave up at a limit of work: rows may be missing."
    )


def connect(
    page: Page[Row],
    nodes: list[Node],
    cursor: Callable[[Row], str],
    *,
    has_previous: bool,
) -> Connection[Node]:
    """The connection of a page whose rows are shown as `nodes`; `cursor` is that of a row."""
    return Connection(
        nodes=nodes,
        as_of=DateTime(page.as_of),
        cursor_at=lambda place: cursor(page.rows[place]),
        has_next=page.has_next,
        has_previous=has_previous,
    )


def connect_search(
    page: Page[Row],
    nodes: list[Node],
    cursor: Callable[[Row], str],
    *,
    has_previous: bool,
) -> SearchConnection[Node]:
    """Like `connect`, for a search that may have given up."""
    return SearchConnection(
        nodes=nodes,
        as_of=DateTime(page.as_of),
        cursor_at=lambda place: cursor(page.rows[place]),
        has_next=page.has_next,
        has_previous=has_previous,
        truncated=page.truncated,
    )
