"""What an operation costs: weight by page size, and the page sizes of nested lists multiply.

Every weight follows from the schema, so that a new field has one without being named here:

- a field weighs 1, one that walks (`maxDepth`) weighs the depth, and each item given to it 1 more;
- what is inside a field counts as often as the rows that it asks for (`first`, `limit`, be it in an
  input object), or as the longest list that it is given;
- a list without a size of its own counts as `UNSIZED` rows, unless it is the page that the field
  around it has sized;
- of a list of plain values, `PLAIN` weigh 1.

What is beyond the greatest page or depth counts as that: it is refused by its field.
Fields that are skipped by a directive count, and so does each fragment where it is spread: the cost
is what the operation may take at most, as far as the schema tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    is_leaf_type,
    is_list_type,
)
from graphql import get_nullable_type as nullable

from retrograph.rules.limits import MAX_FIRST, MAX_WALK_DEPTH
from retrograph.schema.given import Given, find_given

UNSIZED = 10
"""Rows that a list is taken to have where nothing says how many it may have."""
PLAIN = 10
"""Numbers or texts of a list that weigh as much as one field."""
SIZES = ("first", "limit")
"""The arguments that say how many rows a field gives."""
DEPTH = "maxDepth"
"""The argument that says how far a field walks."""
HEAVY: Mapping[str, int] = {
    "Query.previewInvalidation": 1_000,
    "Query.verifyCheckpoints": 1_000,
}
"""Fields that work harder than their type and arguments tell."""


class Cost(NamedTuple):
    """What an operation takes: its cost, and the items of all lists that it gives."""

    points: int
    items: int


@dataclass(frozen=True, slots=True)
class _Price:
    """A field's price: `leaves` is the number of fields inside that have no price of their own.

    As many rows as `scale` weigh like one.
    """

    weight: int
    depth: Given | None
    size: Given | int
    lists: tuple[Given, ...]
    leaves: int
    inside: tuple[_Price, ...]
    scale: int = 1

    def of(self, variables: Mapping[str, Any]) -> Cost:
        lengths = [length for each in self.lists for length in each.lengths(variables)]
        nested = [each.of(variables) for each in self.inside]
        items = sum(lengths)
        weight = (
            self.weight
            if self.depth is None
            else self.weight * self.depth.number(variables, MAX_WALK_DEPTH)
        )
        if isinstance(self.size, Given):
            rows = self.size.number(variables, MAX_FIRST)
        else:
            rows = max(self.size, *lengths) if lengths else self.size
        inside = rows * (self.leaves + sum(each.points for each in nested)) // self.scale
        return Cost(weight + items + inside, items + sum(each.items for each in nested))


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a valid document's operations, by name; None is the name of one without.

    `introspects` tells whether the document asks for the schema.
    """

    operations: Mapping[str | None, _Price]
    introspects: bool

    def cost(self, operation: str | None, variables: Mapping[str, Any] | None) -> Cost:
        """The cost of an operation, or of the only one if none is named."""
        if operation is None:
            (price,) = self.operations.values()
        else:
            price = self.operations[operation]
        return price.of(variables or {})


def find_prices(schema: GraphQLSchema, document: DocumentNode) -> Prices:
    """The prices of a document that is valid in the schema."""
    pricing = _Pricing(schema, document)
    operations = {
        each.name.value if each.name else None: pricing.operation(each)
        for each in document.definitions
        if isinstance(each, OperationDefinitionNode)
    }
    return Prices(operations, pricing.introspects)


class _Pricing:
    """Prices the operations of one document."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self.introspects = False
        self._schema = schema
        self._variables: Mapping[str, Any] = {}
        self._fragments = {
            each.name.value: each
            for each in document.definitions
            if isinstance(each, FragmentDefinitionNode)
        }

    def operation(self, node: OperationDefinitionNode) -> _Price:
        self._variables = {
            each.variable.name.value: each.default_value for each in node.variable_definitions or ()
        }
        root = self._schema.get_root_type(node.operation)
        assert root is not None  # noqa: S101 (the document is valid)
        leaves, inside = self._selection(root, node.selection_set, paged=False)
        return _Price(0, None, 1, (), leaves, inside)

    def _selection(
        self, parent: GraphQLNamedType, selection: SelectionSetNode | None, *, paged: bool
    ) -> tuple[int, tuple[_Price, ...]]:
        leaves, inside = 0, list[_Price]()
        for field in self._fields(parent, selection):
            price = self._field(*field, paged=paged)
            if price is None:
                leaves += 1
            else:
                inside.append(price)
        return leaves, tuple(inside)

    def _fields(
        self, parent: GraphQLNamedType, selection: SelectionSetNode | None
    ) -> Iterator[tuple[GraphQLNamedType, FieldNode]]:
        """The fields of a selection, and of the fragments in it, with their types."""
        for node in selection.selections if selection else ():
            if isinstance(node, FieldNode):
                yield parent, node
                continue
            fragment: Any = node
            if isinstance(node, FragmentSpreadNode):
                fragment = self._fragments[node.name.value]
            assert isinstance(fragment, InlineFragmentNode | FragmentDefinitionNode)  # noqa: S101
            condition = fragment.type_condition
            within = self._schema.get_type(condition.name.value) if condition else parent
            assert within is not None  # noqa: S101 (the document is valid)
            yield from self._fields(within, fragment.selection_set)

    def _field(self, parent: Any, node: FieldNode, *, paged: bool) -> _Price | None:
        """The price of a field; None for a leaf, which weighs 1. `paged`: of a sized page."""
        name = node.name.value
        field = self._schema.get_field(parent, name)
        assert field is not None  # noqa: S101 (the document is valid)
        self.introspects |= name in {"__schema", "__type"}
        inner = get_named_type(field.type)
        if is_leaf_type(inner) and not field.args:
            return None
        given = find_given(field, node, self._variables)
        size = _size(given)
        lists = tuple(each for each in given.values() if each.holds_lists)
        rows = _rows(field, paged=paged) if size is None else size
        paged = size is not None or bool(lists)
        weight, depth = HEAVY.get(f"{parent.name}.{name}", 1), given.get(DEPTH)
        if is_leaf_type(inner):
            return _Price(weight, depth, rows, lists, 1, (), PLAIN)
        leaves, inside = self._selection(inner, node.selection_set, paged=paged)
        return _Price(weight, depth, rows, lists, leaves, inside)


def _size(given: Mapping[str, Given]) -> Given | None:
    """What says how many rows a field gives: an argument, or a field of an input object."""
    for name in SIZES:
        if name in given:
            return given[name]
        for each in given.values():
            inside = each.within(name)
            if inside is not None:
                return inside
    return None


def _rows(field: GraphQLField, *, paged: bool) -> int:
    return UNSIZED if is_list_type(nullable(field.type)) and not paged else 1
