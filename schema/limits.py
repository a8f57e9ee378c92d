"""What a request may ask of the parser and the executor, checked before either works hard.

A document's text is scanned (see `scan`), then what was parsed is walked once, each fragment once;
at last its cost is reckoned (see `cost`). What exceeds a limit is refused with the code
`OPERATION_TOO_COMPLEX`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
"""Fields and spreads, of a document as it is written and of an operation with its fragments spread
out: validation compares them in pairs."""
MAX_ALIKE = 50
"""Fields that answer together, by one name in one place: validation compares each with each."""
MAX_ROOT_FIELDS = 50
"""Fields of one operation that stand in no other."""
MAX_ALIASES = 100
"""Aliases of one document."""
MAX_DIRECTIVES = 50
"""Directives of one document."""
MAX_ARGUMENTS = 50
"""Arguments of one field, or variables of one operation."""
MAX_FRAGMENTS = 100
"""Fragments of one document."""
MAX_TOKENS = 5_000
"""Words and signs of one document; large inputs belong into variables."""
MAX_CHARACTERS = 50_000
"""Characters of one document."""
MAX_ITEMS = 10_000
"""Items of all lists that one operation gives."""
MAX_ERRORS = 5
"""Mistakes that are told, of a document or of its variables; the search ends there."""
MAX_BODY_BYTES = 2_000_000
"""Bytes of one HTTP request's body."""
MAX_MESSAGE_BYTES = 1_048_576
"""Bytes of one WebSocket message; the server that listens has to be told."""

TOO_COMPLEX = {"code": "OPERATION_TOO_COMPLEX"}
"""The extensions of the error of a request beyond these limits."""


class Size(NamedTuple):
    """How deep a selection goes, and how much it selects with its fragments spread out.

    `fields` stand in no other field of it.
    """

    depth: int
    selections: int
    fields: int


_TOO_DEEP = Size(MAX_DEPTH + 1, 1, 1)
_NOTHING = Size(0, 0, 0)


def check_document(document: DocumentNode) -> GraphQLError | None:
    """The error of a document with an operation or a fragment that is too deep or too large."""
    measure = _Measure(document)
    if measure.fragment_count > MAX_FRAGMENTS:
        return too_complex(f"The document has more than {MAX_FRAGMENTS} fragments.")
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode | FragmentDefinitionNode):
            size = measure.definition(definition)
            is_operation = isinstance(definition, OperationDefinitionNode)
            excess = _excess(size, size.fields if is_operation else 0)
            if excess:
                return too_complex(f"The operation has more than {excess}.")
            excess = _crowd(_Places(measure.fragments), definition.selection_set)
            if excess:
                return too_complex(f"The operation has more than {excess}.")
    return None


def too_complex(message: str) -> GraphQLError:
    """The error of a request beyond a limit that the message names."""
    return GraphQLError(f"{message} Ask in several operations.", extensions=dict(TOO_COMPLEX))


def _excess(size: Size, root_fields: int) -> str | None:
    if size.depth > MAX_DEPTH:
        return f"{MAX_DEPTH} fields inside one another"
    if size.selections > MAX_SELECTIONS:
        return f"{MAX_SELECTIONS} selections, its fragments spread out"
    return f"{MAX_ROOT_FIELDS} fields at its root" if root_fields > MAX_ROOT_FIELDS else None


def _crowd(places: _Places, selection: SelectionSetNode) -> str | None:
    most = places.alike([selection])
    if places.left < 0:  # what was measured as less contains itself
        return f"{MAX_SELECTIONS} selections, its fragments spread out"
    return f"{MAX_ALIKE} fields of one name in one place" if most > MAX_ALIKE else None


class _Measure:
    """Measures the selections of a document; each fragment once.

    A fragment that contains itself counts as nothing there: validation refuses it.
    """

    def __init__(self, document: DocumentNode) -> None:
        self.fragments = {
            each.name.value: each
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }
        self._sizes: dict[str, Size] = {}

    @property
    def fragment_count(self) -> int:
        return len(self.fragments)

    def definition(self, node: OperationDefinitionNode | FragmentDefinitionNode) -> Size:
        if isinstance(node, FragmentDefinitionNode):
            return self._fragment(node.name.value, 0)
        return self._selection(node.selection_set, 0)

    def _selection(self, selection: SelectionSetNode | None, level: int) -> Size:
        if level > MAX_NESTING:
            return _TOO_DEEP
        depth = selections = fields = 0
        for each in selection.selections if selection else ():
            inside = self._inside(each, level + 1)
            is_field = isinstance(each, FieldNode)
            depth = max(depth, inside.depth + is_field)
            selections = min(selections + inside.selections + 1, MAX_SELECTIONS + 1)
            fields += 1 if is_field else inside.fields
        return Size(depth, selections, fields)

    def _inside(self, node: SelectionNode, level: int) -> Size:
        if isinstance(node, FragmentSpreadNode):
            return self._fragment(node.name.value, level)
        assert isinstance(node, FieldNode | InlineFragmentNode)  # noqa: S101 (there are no others)
        return self._selection(node.selection_set, level)

    def _fragment(self, name: str, level: int) -> Size:
        if name not in self._sizes:
            self._sizes[name] = _NOTHING
            fragment = self.fragments.get(name)
            if fragment is not None:
                self._sizes[name] = self._selection(fragment.selection_set, level)
        return self._sizes[name]


class _Places:
    """Where the fields of an operation or a fragment answer: those of one name answer as one.

    `left` falls below 0 where there are more than `MAX_SELECTIONS`; then the search ends.
    """

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self.left = MAX_SELECTIONS
        self._fragments = fragments

    def alike(self, selections: Iterable[SelectionSetNode], level: int = 0) -> int:
        """How many fields of selections that are answered together share one place, at most."""
        groups: dict[str, list[FieldNode]] = {}
        for field in self._together(selections):
            groups.setdefault((field.alias or field.name).value, []).append(field)
        most = max(map(len, groups.values()), default=0)
        for group in groups.values():
            if level == MAX_DEPTH or self.left < 0:
                break
            inside = [each.selection_set for each in group if each.selection_set]
            most = max(most, self.alike(inside, level + 1))
        return most

    def _together(self, selections: Iterable[SelectionSetNode]) -> Iterator[FieldNode]:
        """The fields of selections, with fragments spread out, each once."""
        left, spread = [each for one in selections for each in one.selections], set[str]()
        while left:
            node = left.pop()
            if isinstance(node, FieldNode):
                self.left -= 1
                yield node
            elif isinstance(node, InlineFragmentNode):
                left += node.selection_set.selections
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                spread.add(node.name.value)
                found = self._fragments.get(node.name.value)
                left += found.selection_set.selections if found else ()
