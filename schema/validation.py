"""Validation that ends soon: who sends a thousand mistakes is told of the first few."""

from __future__ import annotations

from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    TypeNode,
    ValidationRule,
    specified_rules,
    validate,
)

from retrograph.schema.limits import MAX_ERRORS

_JSON_TYPES = frozenset({"Boolean", "Float", "ID", "Int", "JSON", "String"})
"""The types whose values are the same inside as the caller wrote them."""


class JsonVariables(ValidationRule):
    """A variable inside a JSON literal must be of a type that JSON has.

    Of any other the literal would take what the server makes of it: a number of an instant.
    """

    def leave_operation_definition(self, node: OperationDefinitionNode, *_: Any) -> None:
        """Looks at the variables of an operation and of its fragments."""
        types = {
            each.variable.name.value: _named(each.type) for each in node.variable_definitions or ()
        }
        for usage in self.context.get_recursive_variable_usages(node):
            name = usage.node.name.value
            if usage.type is None and types.get(name, "JSON") not in _JSON_TYPES:
                self.report_error(
                    GraphQLError(
                        f"${name} is a {types[name]}, which JSON doesn't have; to use it inside a "
                        "JSON value declare it as JSON or as a String.",
                        usage.node,
                    )
                )


_RULES = (*specified_rules, JsonVariables)


def find_errors(
    schema: GraphQLSchema, document: DocumentNode, *, hints: bool
) -> list[GraphQLError]:
    """Why a document is not valid; with `hints`, also what may have been meant instead.

    A number with too many digits to be read is an error, too.
    """
    try:
        return validate(schema, document, _RULES, MAX_ERRORS, hide_suggestions=not hints)
    except ValueError as error:
        return [GraphQLError(str(error), original_error=error)]


def _named(node: TypeNode) -> str:
    while isinstance(node, ListTypeNode | NonNullTypeNode):
        node = node.type
    assert isinstance(node, NamedTypeNode)  # noqa: S101 (there are no others)
    return node.name.value
