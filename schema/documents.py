"""Documents that have been found valid, remembered while clients repeat them."""

from __future__ import annotations

from collections import OrderedDict

from graphql import DocumentNode

REMEMBERED = 256
LONGEST = 10_000
"""Characters of one text; so all that is remembered stays within a few megabytes."""


class Documents:
    """Valid documents by their text, the most lately used ones; for one schema."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, DocumentNode] = OrderedDict()

    def find(self, text: str | None) -> DocumentNode | None:
        """The document of a text that was found valid before."""
        document = self._known.get(text) if text else None
        if text and document:
            self._known.move_to_end(text)
        return document

    def remember(self, text: str | None, document: DocumentNode) -> None:
        """Keeps a document that is valid."""
        if text and len(text) <= LONGEST:
            self._known[text] = document
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
