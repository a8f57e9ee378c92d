"""Documents that a client names by their hash, and the list of those that a server executes.

The hash is the SHA-256 of the document's text in UTF-8, in hexadecimal, and comes as
`extensions.persistedQuery.sha256Hash` with `version` 1 (Apollo's convention).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphql import GraphQLError

from retrograph.rules.errors import ConfigurationError

EXTENSION = "persistedQuery"
NOT_FOUND = "PERSISTED_QUERY_NOT_FOUND"
NOT_SUPPORTED = "PERSISTED_QUERY_NOT_SUPPORTED"


class PersistedDocuments:
    """The only documents that are executed, by the hashes of their texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {hash_of(text): text for text in texts}

    def __len__(self) -> int:
        return len(self._texts)

    def find(self, query: str | None, digest: str | None) -> str:
        """The document that a request gives or names; raises the error of one that isn't listed."""
        given = hash_of(query) if query else digest
        text = self._texts.get(given or "")
        if text is None or (digest is not None and digest != given):
            raise _error("The document is none of those that this server executes.", NOT_FOUND)
        return text


def hash_of(text: str) -> str:
    """The hash that names a document; a lone surrogate, which has no UTF-8, hashes as it can."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def find_document(
    query: str | None, extensions: Mapping[str, Any] | None, documents: PersistedDocuments | None
) -> str | None:
    """The text of the document to execute; None where none is given.

    Without a list of `documents` every document is executed, but none is known by its hash. Raises
    `GraphQLError`.
    """
    digest = _digest(extensions)
    if documents is not None:
        return documents.find(query, digest)
    if digest is not None and not query:
        raise _error("This server knows no documents; send the document itself.", NOT_SUPPORTED)
    return query


def load_documents(place: Path) -> PersistedDocuments:
    """The documents of a folder's `.graphql` files, one a file, or of a manifest in JSON.

    A manifest is an object of texts by hash, or Apollo's, with `operations` that have an `id` and a
    `body`. A file's document is known with and without the white space around it. Raises
    `ConfigurationError`.
    """
    try:
        if place.is_dir():
            found = [file.read_text("utf-8") for file in sorted(place.rglob("*.graphql"))]
            return PersistedDocuments([*found, *(text.strip() for text in found)])
        manifest = json.loads(place.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"The persisted documents {place} can't be read: {error}. Name a folder of .graphql "
            "files, or a manifest in JSON."
        ) from error
    return PersistedDocuments(_texts(manifest, place))


def _texts(manifest: Any, place: Path) -> list[str]:
    try:
        if "operations" in manifest:
            pairs = [(each["id"], each["body"]) for each in manifest["operations"]]
        else:
            pairs = list(manifest.items())
        wrong = [name for name, text in pairs if hash_of(text) != name.removeprefix("sha256:")]
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{place} is no manifest; give an object of documents by their SHA-256."
        ) from error
    if wrong:
        raise ConfigurationError(f"In {place} the document {wrong[0]} has another SHA-256.")
    return [text for _, text in pairs]


def _digest(extensions: Mapping[str, Any] | None) -> str | None:
    """The hash that a request names; raises the error of one that is malformed."""
    named = (extensions or {}).get(EXTENSION)
    if named is None:
        return None
    if not isinstance(named, Mapping) or named.get("version") != 1:
        raise _error(f"Give `{EXTENSION}` as an object with the `version` 1.", NOT_SUPPORTED)
    digest = named.get("sha256Hash")
    if not isinstance(digest, str):
        raise _error(f"Give the `sha256Hash` of `{EXTENSION}` as a string.", NOT_SUPPORTED)
    return digest.lower()


def _error(message: str, code: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": code})
