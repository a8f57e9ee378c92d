"""What a document's text alone tells of its size, counted before it is parsed.

The parser takes some ten times as long as this scan, so most of what is too large is refused here.
A text that is no GraphQL passes: the parser says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from graphql import GraphQLError

from retrograph.schema.limits import (
    MAX_ALIASES,
    MAX_ARGUMENTS,
    MAX_CHARACTERS,
    MAX_DIRECTIVES,
    MAX_SELECTIONS,
    MAX_TOKENS,
    too_complex,
)

# Whatever the text, no attempt fails and none is made twice: it takes linear time.
_WORD = re.compile(
    r"""(?:[\s,\ufeff]++|\#[^\n\r]*+)*+               # what lies between words
    ( "{3}(?:\\"{3}|"(?!"")|[^"])*+(?:"{3})?            # a block string, ended or not
    | "(?:\\.|[^"\\\n\r])*+"?
    | \.{3}
    | [A-Za-z_]\w*+
    | -?\d[\d.eE+-]*+
    | . | \Z )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_TYPE_CONDITION = "... on"


@dataclass(slots=True)
class Counts:
    """How much of each kind a document holds, as it is written."""

    selections: int = 0
    aliases: int = 0
    directives: int = 0
    arguments: int = 0
    """Of the field, or variables of the operation, that has most."""


def check_text(text: str) -> GraphQLError | None:
    """The error of a document whose text is too long, or holds too much of something."""
    if len(text) > MAX_CHARACTERS:
        return too_complex(f"The document has more than {MAX_CHARACTERS:,} characters.")
    words = read_words(text)
    if len(words) > MAX_TOKENS:
        return too_complex(f"The document has more than {MAX_TOKENS:,} words and signs.")
    counts = count(words)
    for found, most, what in (
        (counts.selections, MAX_SELECTIONS, "selections"),
        (counts.aliases, MAX_ALIASES, "aliases"),
        (counts.directives, MAX_DIRECTIVES, "directives"),
        (counts.arguments, MAX_ARGUMENTS, "arguments or variables at one place"),
    ):
        if found > most:
            return too_complex(f"The document has more than {most} {what}.")
    return None


def read_words(text: str) -> list[str]:
    """The words and signs of a text, up to one more than a document may have."""
    matched = (each[1] for each in islice(_WORD.finditer(text), MAX_TOKENS + 1))
    return [word for word in matched if word]  # the end is an empty one


def count(words: Iterable[str]) -> Counts:
    """What a document with these words holds, if it is one."""
    counts = Counts()
    braces = nested = given = 0
    before = ""
    for word in words:
        if word == "@":
            counts.directives += 1
        elif nested:
            nested += (word in _OPENING) - (word in _CLOSING)
            if word == ":" and nested == 1:
                given += 1
                counts.arguments = max(counts.arguments, given)
        elif word == "(":
            nested, given = 1, 0
        elif word in {"{", "}"}:
            braces += 1 if word == "{" else -1
        elif word == ":":
            counts.aliases += 1
        elif braces and before not in {":", "@", "...", _TYPE_CONDITION}:
            counts.selections += 1
        before = _TYPE_CONDITION if (before, word) == ("...", "on") else word
    return counts
