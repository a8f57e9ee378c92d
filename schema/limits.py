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
    SelectionNode,
    SelectionSetNode,
)

MAX_DEPTH = 15
"""Fields inside one another."""
MAX_NESTING = 100
"""Fields and fragments inside one another."""
MAX_SELECTIONS = 500
"""Fields and spreads of one operation, fragments spread out: validation compares them in pairs."""
MAX_FRAGMENTS = 100
"""Fragments of one document."""
MAX_TOKENS = 5_000
"""Words and signs of one document; large inputs belong into variables."""
MAX_BODY_BYTES = 2_000_000
"""Bytes of one HTTP request's body."""
MAX_MESSAGE_BYTES = 1_048_576
"""Bytes of one WebSocket message; the server that listens has to be told."""

TOO_COMPLEX = {"code": "OPERATION_TOO_COMPLEX"}
"""The extensions of the error of a request beyond these limits."""


class Size(NamedTuple):
    """How deep a selection goes, and how much it selects with its fragments spread out."""

    depth: int
    selections: int


_TOO_DEEP = Size(MAX_DEPTH + 1, 1)


def check_document(document: DocumentNode) -> GraphQLError | None:
    """The error of a document with an operation or a fragment that is too deep or too large."""
    measure = _Measure(document)
    if measure.fragment_count > MAX_FRAGMENTS:
        return _refused(f"The document has more than {MAX_FRAGMENTS} fragments.")
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode | FragmentDefinitionNode):
            size = measure.definition(definition)
            if size.depth > MAX_DEPTH:
                return _refused(
                    f"The operation is too deep: at most {MAX_DEPTH} fields inside one another."
                )
            if size.selections > MAX_SELECTIONS:
                return _refused(
                    f"The operation selects more than {MAX_SELECTIONS} fields, its fragments "
                    "spread out."
                )
    return None


def _refused(message: str) -> GraphQLError:
    return GraphQLError(f"{message} Ask in several operations.", extensions=dict(TOO_COMPLEX))


class _Measure:
    """Measures the selections of a document; each fragment once.

    A fragment that contains itself counts as nothing there: validation refuses it.
    """

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            each.name.value: each
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        self._sizes: dict[str, Size] = {}

    @property
    def fragment_count(self) -> int:
        return len(self._fragments)

    def definition(self, node: OperationDefinitionNode | FragmentDefinitionNode) -> Size:
        if isinstance(node, FragmentDefinitionNode):
            return self._fragment(node.name.value, 0)
        return self._selection(node.selection_set, 0)

    def _selection(self, selection: SelectionSetNode | None, level: int) -> Size:
        if level > MAX_NESTING:
            return _TOO_DEEP
        depth = selections = 0
        for each in selection.selections if selection else ():
            inside = self._inside(each, level + 1)
            depth = max(depth, inside.depth + isinstance(each, FieldNode))
            selections = min(selections + inside.selections + 1, MAX_SELECTIONS + 1)
        return Size(depth, selections)

    def _inside(self, node: SelectionNode, level: int) -> Size:
        if isinstance(node, FragmentSpreadNode):
            return self._fragment(node.name.value, level)
        assert isinstance(node, FieldNode | InlineFragmentNode)  # noqa: S101 (there are no others)
        return self._selection(node.selection_set, level)

    def _fragment(self, name: str, level: int) -> Size:
        if name not in self._sizes:
            self._sizes[name] = Size(0, 0)
            fragment = self._fragments.get(name)
            if fragment is not None:
                self._sizes[name] = self._selection(fragment.selection_set, level)
        return self._sizes[name]
