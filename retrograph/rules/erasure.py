"""What stands for content that was erased: who signed it off, sealed with all that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from retrograph.rules.checkpoint import sealed
from retrograph.rules.instant import EARLIEST, LATEST, format_instant


@dataclass(frozen=True, slots=True)
class Erasure:
    """When (an instant), by whom and why the content of a checkpoint or a step went.

    `result_hash` is the hash of a step's result (see `ledger`); None for a checkpoint.
    """

    at: int
    by: str
    reason: str
    result_hash: str | None = None


def erasure_text(erasure: Erasure, left: Mapping[str, object]) -> str:
    """The canonical JSON that stands for the content; `left` is all else that there was.

    Its `seal` is the hex SHA-256 of the canonical JSON of `left` and the erasure.  `ValueError` for
    what can't be.
    """
    if not EARLIEST <= erasure.at <= LATEST:
        raise ValueError("erased at no instant")
    told: dict[str, object] = {
        "erasedAt": format_instant(erasure.at),
        "erasedBy": erasure.by,
        "reason": erasure.reason,
        "resultHash": erasure.result_hash,
    }
    seal = sealed({**left, **told})
    stored = {"at": erasure.at, **told, "seal": seal}
    return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS).decode()


def read_erasure(text: str, left: Mapping[str, object]) -> Erasure:
    """The erasure that a stored text tells of; `ValueError` unless it is sealed with `left`."""
    told = orjson.loads(text)
    try:
        at, by, reason = told["at"], told["erasedBy"], told["reason"]
        erasure = Erasure(at, by, reason, told["resultHash"])
        texts = (by, reason, erasure.result_hash or "")
    except (KeyError, TypeError) as error:
        raise ValueError("no erasure") from error
    if type(at) is not int or not all(type(each) is str for each in texts):
        raise ValueError("no erasure")
    if erasure_text(erasure, left) != text:
        raise ValueError("an erasure of something else")
    return erasure
