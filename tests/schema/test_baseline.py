"""No change breaks or endangers a client unless the same change promises a new baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.baseline import BASELINE, SCHEMA, compare, harmful, name_of
from tests.shared import ROOT


def test_the_schema_keeps_what_clients_were_promised() -> None:
    advice = "a client may break: undo this, or run `make baseline` and tell it in the changelog"
    assert harmful(BASELINE, SCHEMA) == [], advice


def is_told(baseline: bytes) -> bool:
    return f"- API baseline `{name_of(baseline)}`: " in (ROOT / "CHANGELOG.md").read_text()


def test_the_changelog_tells_of_the_baseline_and_of_no_other() -> None:
    baseline = BASELINE.read_bytes()
    assert is_told(baseline), "run `make baseline`"
    assert not is_told(baseline.replace(b"  pinned: Boolean!", b"  pinned: Boolean", 1))


BEFORE = """
type Query {
  node(id: ID!, first: Int! = 50): Node
  gone: Int
}
type Node { id: ID!  name: String! }
type Failure { code: String! }
union Answer = Node
enum Kind { OLD  DROPPED }
input Filter { kind: Kind }
"""
AFTER = """
type Query {
  node(id: ID!, first: Int! = 100, strict: Boolean, must: ID!): Node
  fresh: Kind
}
type Node { id: ID!  name: String  "New."  size: Int }
type Failure { code: String! }
union Answer = Node | Failure
enum Kind { OLD  ADDED }
input Filter { kind: Kind  more: String  needed: ID! }
"""
HARM = {
    "Query.gone": "BREAKING",
    "Query.node.must": "BREAKING",
    "Node.name": "BREAKING",
    "Kind.DROPPED": "BREAKING",
    "Filter.needed": "BREAKING",
    "Query.node.first": "DANGEROUS",
    "Query.node.strict": "DANGEROUS",
    "Answer": "DANGEROUS",
    "Kind.ADDED": "DANGEROUS",
}
SAFE = {"Query.fresh", "Node.size", "Filter.more"}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A schema before and after changes of every sort."""
    folder = tmp_path_factory.mktemp("sdl")
    (folder / "before").write_text(BEFORE)
    (folder / "after").write_text(AFTER)
    return folder / "before", folder / "after"


def test_what_breaks_or_endangers_a_client_is_found(versions: tuple[Path, Path]) -> None:
    assert {change.path: change.level for change in harmful(*versions)} == HARM


def test_what_is_only_more_to_ask_for_is_not(versions: tuple[Path, Path]) -> None:
    levels = {change.path: change.level for change in compare(*versions)}
    assert {path for path, level in levels.items() if level == "SAFE"} >= SAFE
