"""The gate: parses statements and judges their trees by every rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tests.tsql import rules_access, rules_dialect, rules_query, rules_schema, rules_tenant
from tests.tsql.catalogue import Catalogue, catalogue
from tests.tsql.tree import Finding, Script, Statement, parse

Rule = Callable[[Script, Catalogue], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    rules_schema.whole_numbers,
    rules_schema.instants,
    rules_schema.types,
    rules_schema.texts,
    rules_schema.versioning,
    rules_schema.truncation,
    rules_dialect.functions,
    rules_dialect.names,
    rules_dialect.cursors,
    rules_query.ordered_by,
    rules_query.column_names,
    rules_query.groups,
    rules_query.recursions,
    rules_access.dynamic,
    rules_access.table_names,
    rules_access.locks,
    rules_tenant.predicates,
)


def check(statements: Iterable[Statement], schema: Catalogue) -> list[Finding]:
    """What is wrong with statements that are sent to a database with this schema."""
    found: list[Finding] = []
    for statement in statements:
        script, errors = parse(statement)
        found += errors
        if not errors:
            for rule in RULES:
                found += rule(script, schema)
    return found


def check_schema(migrations: Iterable[Statement]) -> list[Finding]:
    """What is wrong with the migrations that make a schema, each text and all together."""
    texts = list(migrations)
    schema = read_schema(texts)
    whole = [*rules_schema.histories(schema), *rules_schema.policies(schema)]
    return check(texts, schema) + whole


def read_schema(migrations: Iterable[Statement]) -> Catalogue:
    """The schema that migrations make, of those texts that can be parsed."""
    parsed = [parse(statement) for statement in migrations]
    return catalogue(script for script, errors in parsed if not errors)
