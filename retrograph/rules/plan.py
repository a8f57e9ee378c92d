"""The fingerprint of a plan: what a cascade would do, in one short text."""

from __future__ import annotations

from hashlib import sha256

from retrograph.rules.cascade import Cascade


def plan_hash(cascade: Cascade) -> str:
    """Return the hex SHA-256 of all impacts, as 64 lower-case digits.

    The hashed text has one line an impact, ascending by node id as a signed number, in ASCII and
    each ended by a line feed: `<node id> <from> <to>`, three decimal numbers with single spaces,
    where `from` and `to` are the numbers of the projected validities. No impact hashes the empty
    text.
    """
    impacts = sorted(zip(cascade.nodes, cascade.before, cascade.after, strict=True))
    text = "".join([f"{node} {before} {after}\n" for node, before, after in impacts])
    return sha256(text.encode("ascii")).hexdigest()
