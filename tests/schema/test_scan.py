"""The text of a document is measured as the parser would read it, or left to the parser."""

from __future__ import annotations

import time
from random import Random

import pytest
from graphql import (
    DirectiveNode,
    FieldNode,
    GraphQLError,
    Node,
    SelectionNode,
    Visitor,
    parse,
    visit,
)

from retrograph.schema.limits import (
    MAX_ALIASES,
    MAX_ARGUMENTS,
    MAX_CHARACTERS,
    MAX_DIRECTIVES,
    MAX_SELECTIONS,
    MAX_TOKENS,
)
from retrograph.schema.scan import check_text, count, read_words
from retrograph.schema.schema import make_schema
from tests.schema.bombs import many
from tests.schema.fuzz import Fuzzer


def selecting(count: int, item: str) -> str:
    return "{ a {" + many(count, item) + "} }"


@pytest.mark.parametrize(
    ("document", "times"),
    [
        ("{ a { %s } }", MAX_SELECTIONS - 1),
        ("{ a { %s } } # a a a", MAX_SELECTIONS - 1),
        ("# { a a\n query q @x(a: 1) { a { %s } }", MAX_SELECTIONS - 1),
        ('{ a(b: "} { a a", c: {d: [{e: 1}]}) { %s } }', MAX_SELECTIONS - 1),
        ('{ a(b: """ \\""" " } a a""") { %s } }', MAX_SELECTIONS - 1),
        ("{ a { %s } } fragment f on T { a }", MAX_SELECTIONS - 2),
        ("{ a { ...f ... on T @x { on } ... { a } %s } }", MAX_SELECTIONS - 6),
        ("{ b: a { %s } }", MAX_SELECTIONS - 1),
        ("{ a{...f b}%s }", MAX_SELECTIONS - 3),
    ],
)
def test_fields_and_spreads_are_counted(document: str, times: int) -> None:
    assert check_text(document.replace("%s", "a " * times)) is None
    refusal = check_text(document.replace("%s", "a " * (times + 1)))
    assert refusal is not None
    assert refusal.extensions == {"code": "OPERATION_TOO_COMPLEX"}


@pytest.mark.parametrize(
    ("document", "item", "most"),
    [
        ("{ a { %s } }", "a%d: b ", MAX_ALIASES),
        ("{ a %s }", "@a%d ", MAX_DIRECTIVES),
        ("query ($a: Int %s) { a }", "@a%d(b: 1) ", MAX_DIRECTIVES),
        ("{ a(%s) b(c: {d: 1, e: 2}) }", "a%d: {b: 1, c: [1, 2]} ", MAX_ARGUMENTS),
        ("query (%s) { a }", "$a%d: Int = 1 ", MAX_ARGUMENTS),
        ("{ a(b: [%s]) }", "1 ", MAX_TOKENS - 9),
    ],
)
def test_each_kind_has_a_limit_of_its_own(document: str, item: str, most: int) -> None:
    assert check_text(document.replace("%s", many(most, item))) is None
    assert check_text(document.replace("%s", many(most + 1, item))) is not None


def test_it_counts_what_the_parser_reads() -> None:
    fuzzer = Fuzzer(make_schema()._schema, Random(1))
    for _ in range(300):
        text = fuzzer.operation().query
        try:
            document = parse(text, max_tokens=MAX_TOKENS)
        except GraphQLError:
            continue
        counts = count(read_words(text))
        found = Found()
        visit(document, found)
        assert (counts.selections, counts.aliases, counts.directives) == (
            found.selections, found.aliases, found.directives,
        ), text  # fmt: skip


class Found(Visitor):
    """Counts in what was parsed."""

    def __init__(self) -> None:
        super().__init__()
        self.selections = self.aliases = self.directives = 0

    def enter(self, node: Node, *_: object) -> None:
        self.selections += isinstance(node, SelectionNode)
        self.aliases += isinstance(node, FieldNode) and node.alias is not None
        self.directives += isinstance(node, DirectiveNode)


def test_a_document_has_so_many_characters() -> None:
    assert check_text("{ a }".ljust(MAX_CHARACTERS)) is None
    assert check_text("{ a }".ljust(MAX_CHARACTERS + 1)) is not None


@pytest.mark.parametrize("text", ["", "}}}", ")", '{ a(b: "', '{ a(b: """', "{ a } \x00", "é", "{"])
def test_what_is_no_graphql_is_left_to_the_parser(text: str) -> None:
    assert check_text(text) is None
    with pytest.raises(GraphQLError):
        parse(text)


@pytest.mark.parametrize(
    "piece", [" ", "#", "#\n", '"', '"""', '"""\\', "\\", '"\\', '""" "', "-", "1.", "..", "a:"]
)
def test_no_text_takes_long(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        for _ in range(5):
            check_text(text)
        return time.process_time() - began

    short, long = (min(seconds(size) for _ in range(3)) for size in (5_000, MAX_CHARACTERS))
    assert long <= 40 * short  # ten times the text; a hundred if it were quadratic
