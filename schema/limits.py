"""What a request may ask of the parser and the executor, checked before either works hard.

A document is walked once, fragments are counted once, and what exceeds a limit is refused with the
code `OPERATION_TOO_COMPLEX`.
"""

from __future__ import annotations

from typing import NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

MAX_DEPTH = 15
"""Fields inside one another."""
MAX_FIELDS = 500
"""Fields of one operation, its fragments spread out: validation compares them in pairs."""
MAX_TOKENS = 5_000
"""Words and signs of one document; large inputs belong into variables."""
MAX_BODY_BYTES = 2_000_000
"""Bytes of one HTTP request's body."""
MAX_MESSAGE_BYTES = 1_048_576
"""Bytes of one WebSocket message; the server that listens has to be told."""

TOO_COMPLEX = {"code": "OPERATION_TOO_COMPLEX"}
"""The extensions of the error of a request beyond these limits."""


class Size(NamedTuple):
    """How deep a selection goes, and how many fields it has with its fragments spread out."""

    depth: int
    fields: int


def check_document(document: DocumentNode) -> GraphQLError | None:
    """The error of a document with an operation that is too deep or too large."""
    measure = _Measure(document)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            refusal = _check(measure.selection(definition.selection_set))
            if refusal:
                return GraphQLError(refusal, definition, extensions=dict(TOO_COMPLEX))
    return None


def _check(size: Size) -> str | None:
    if size.depth > MAX_DEPTH:
        return f"The operation is {size.depth} fields deep; at most {MAX_DEPTH}. Ask in several."
    if size.fields > MAX_FIELDS:
        return (
            f"The operation has more than {MAX_FIELDS} fields, its fragments spread out. Ask in "
            "several."
        )
    return None


class _Measure:
    """Measures the selections of a document; each fragment once, and cycles as nothing."""

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            each.name.value: each
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        self._sizes: dict[str, Size] = {}

    def selection(self, selection: SelectionSetNode | None) -> Size:
        depth = fields = 0
        for each in selection.selections if selection else ():
            size = self._one(each)
            depth, fields = max(depth, size.depth), min(fields + size.fields, MAX_FIELDS + 1)
        return Size(depth, fields)

    def _one(self, node: object) -> Size:
        if isinstance(node, FieldNode):
            inside = self.selection(node.selection_set)
            return Size(inside.depth + 1, inside.fields + 1)
        if isinstance(node, FragmentSpreadNode):
            return self._fragment(node.name.value)
        return (
            self.selection(node.selection_set)
            if isinstance(node, InlineFragmentNode)
            else Size(0, 0)
        )

    def _fragment(self, name: str) -> Size:
        if name not in self._sizes:
            self._sizes[name] = Size(0, 0)  # a fragment that contains itself: validation refuses it
            fragment = self._fragments.get(name)
            if fragment is not None:
                self._sizes[name] = self.selection(fragment.selection_set)
        return self._sizes[name]
