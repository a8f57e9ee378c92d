"""What a client asks for: a document with its variables, and how to read the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MUTATION = re.compile(r"\bmutation\b")


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One query or mutation; `read` makes a value of the response's data.

    `repeatable` tells that to do it twice is to do it once, so that it may be tried again though
    nobody knows whether it was done.
    """

    document: str
    variables: Mapping[str, Any]
    read: Callable[[dict[str, Any]], T]
    repeatable: bool


def plain(document: str, variables: Mapping[str, Any] | None) -> Operation[dict[str, Any]]:
    """An operation that answers with the data itself.

    Repeatable unless the word `mutation` stands anywhere in its document.
    """
    repeatable = _MUTATION.search(document) is None
    return Operation(document, variables or {}, lambda data: data, repeatable)
