"""Who may be recalled: a flag for each place of an index, and how it changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from retrograph.rules.arrays import Flags, Ints
from retrograph.rules.domain_index import DomainIndex


def only(index: DomainIndex, ids: Collection[int]) -> Flags:
    """Those episodes of the index and nobody else."""
    flags = np.zeros(len(index), np.bool_)
    flags[index.places_of(ids)] = True
    return flags


def changed(index: DomainIndex, before: Flags, now: Mapping[int, bool]) -> Flags:
    """The flags after some episodes became eligible or ceased to be; others stay."""
    flags = np.zeros(len(index), np.bool_)
    flags[: len(before)] = before
    flags[index.places_of([id for id, is_eligible in now.items() if is_eligible])] = True
    flags[index.places_of([id for id, is_eligible in now.items() if not is_eligible])] = False
    return flags


def without(index: DomainIndex, before: Flags, ids: Collection[int]) -> Flags:
    """The flags without some episodes."""
    flags = before.copy()
    places = index.places_of(ids)
    flags[places[places < len(flags)]] = False
    return flags


def narrowed(index: DomainIndex, before: Flags, terms: Collection[str]) -> Flags:
    """Those that have every one of some terms, too."""
    return before & index.with_all(terms, len(before)) if terms else before


def ids_at(index: DomainIndex, places: Ints) -> list[int]:
    """The ids at some places."""
    found: list[int] = index.ids[places].tolist()
    return found
