"""Names that are one and the same however their letters are written."""

from __future__ import annotations

from unicodedata import normalize

from retrograph.rules.errors import FieldPath
from retrograph.rules.limits import check_text

MAX_NAME_LENGTH = 200
"""Characters of the name of a session, a domain, a register, an entity or a tool."""


def check_name(value: object, field: FieldPath) -> str:
    """A name of at most 200 characters that holds more than white space."""
    return check_text(value, field, MAX_NAME_LENGTH)


def fold_name(name: str) -> str:
    """What two spellings of a name have in common: the casefold of its NFC.

    That twice, since folding takes letters apart that NFC may put together anew with an accent.
    """
    for _ in range(2):
        name = normalize("NFC", name).casefold()
    return name
