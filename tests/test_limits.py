"""What docs/limits.md says is so."""

from __future__ import annotations

import re

from graphql import parse
from graphql.language.parser import MAX_NESTING_DEPTH

from retrograph.rules.canonical_json import MAX_NESTING
from retrograph.rules.limits import (
    MAX_COST,
    MAX_FIRST,
    MAX_PATH_DEPTH,
    MAX_WALK_DEPTH,
    OPERATION_SECONDS,
)
from retrograph.schema import limits
from retrograph.schema.cost import HEAVY, PLAIN, UNSIZED, find_prices
from retrograph.schema.schema import make_schema
from retrograph.schema.stream_limits import DEFAULT_STREAM_LIMITS
from retrograph.schema.wire import MAX_LEVELS
from retrograph.settings import Settings
from tests.shared import ROOT

TEXT = (ROOT / "docs" / "limits.md").read_text()
TABLE = dict(re.findall(r"^\| ([^|]+?) \| ([0-9,]+) \|", TEXT, re.MULTILINE))


def test_its_table_has_every_limit() -> None:
    told = [int(number.replace(",", "")) for number in TABLE.values()]
    assert told == [
        limits.MAX_CHARACTERS,
        limits.MAX_TOKENS,
        limits.MAX_SELECTIONS,
        limits.MAX_DEPTH,
        MAX_NESTING_DEPTH,
        limits.MAX_ROOT_FIELDS,
        limits.MAX_ALIASES,
        limits.MAX_DIRECTIVES,
        limits.MAX_FRAGMENTS,
        limits.MAX_ARGUMENTS,
        limits.MAX_ITEMS,
        MAX_COST,
        OPERATION_SECONDS,
        MAX_FIRST,
        MAX_WALK_DEPTH,
        MAX_PATH_DEPTH,
        DEFAULT_STREAM_LIMITS.operations,
        DEFAULT_STREAM_LIMITS.streams,
        DEFAULT_STREAM_LIMITS.streams,
        MAX_NESTING,
        MAX_LEVELS,
        limits.MAX_BODY_BYTES,
        limits.MAX_MESSAGE_BYTES,
        limits.MAX_ERRORS,
    ]
    assert (Settings().max_cost, Settings().operation_timeout) == (MAX_COST, OPERATION_SECONDS)


def test_its_weights_are_those_that_count() -> None:
    said = re.search(r"^- .* its `maxDepth`, (.+?) costs? 1,000,", TEXT, re.MULTILINE)
    assert said is not None
    assert {f"Query.{name}" for name in re.findall(r"`(\w+)`", said[1])} == set(HEAVY)
    assert set(HEAVY.values()) == {1_000}
    assert (UNSIZED, PLAIN) == (10, 10)
    assert "counts as 10 rows. Ten ids" in TEXT.replace("\n", " ")


def test_its_example_costs_what_it_says() -> None:
    found = re.search(r"^`(\{.+\})` costs ([0-9 +×()]+)\.$", TEXT, re.MULTILINE)
    assert found is not None
    prices = find_prices(make_schema()._schema, parse(found[1]))
    assert prices.cost(None, {}).points == eval(found[2].replace("×", "*"))
