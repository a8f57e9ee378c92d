"""Documents that have been found valid, remembered while clients repeat them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from graphql import DocumentNode

from retrograph.schema.cost import Prices

REMEMBERED = 256
LONGEST = 10_000
"""Characters of one text; so all that is remembered stays within a few megabytes."""


@dataclass(frozen=True, slots=True)
class ValidDocument:
    """A document that is valid, and what its operations cost."""

    document: DocumentNode
    prices: Prices


class Documents:
    """Valid documents by their text, the most lately used ones; for one schema."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, ValidDocument] = OrderedDict()

    def find(self, text: str | None) -> ValidDocument | None:
        """The document of a text that was found valid before."""
        found = self._known.get(text) if text else None
        if text and found:
            self._known.move_to_end(text)
        return found

    def remember(self, text: str | None, valid: ValidDocument) -> None:
        """Keeps a document that is valid."""
        if text and len(text) <= LONGEST:
            self._known[text] = valid
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
