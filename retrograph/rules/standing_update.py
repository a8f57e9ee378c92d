"""The standing of a graph of which only the states of some nodes have changed."""

from __future__ import annotations

import numpy as np

from retrograph.rules.arrays import Flags, Ints, Octets
from retrograph.rules.standing import NARROW, Standing
from retrograph.rules.standing_change import StandingChange
from retrograph.rules.structure import Structure
from retrograph.rules.validity import HEALTHY, STALE


def updated(
    structure: Structure,
    standing: Standing,
    places: Ints,
    severity: tuple[bytes, bytes],
    own: Flags,
) -> Standing:
    """Return the standing after the nodes at distinct `places` have changed.

    `severity` is that of all nodes before and after; `own` says for each place whether it has
    ground of its own now. Only what stands, or may stand, by these nodes is looked at.
    """
    before, after = (np.frombuffer(octets, np.uint8)[places] for octets in severity)
    changed = standing.copy()
    grounded = bytearray(standing.grounded)
    np.frombuffer(grounded, np.uint8)[places] = own
    changed.grounded = bytes(grounded)
    _count_mild(structure, changed, places, before, after)
    stood = np.frombuffer(changed.stands, np.bool_)[places]
    lost_ground = (np.frombuffer(standing.grounded, np.uint8)[places] > 0) & ~own
    fallen = stood & ((after > HEALTHY) | lost_ground)
    scratch = np.empty(len(severity[1]), np.int64)
    change = StandingChange(structure, changed, severity[1], NARROW, scratch)
    change.settle(places[fallen], places[~stood])
    return changed


def _count_mild(
    structure: Structure, standing: Standing, places: Ints, before: Octets, after: Octets
) -> None:
    change = (after <= STALE).astype(np.int64) - (before <= STALE)
    moved = np.flatnonzero(change)
    positions, counts = structure.supported.spread(places[moved])
    np.add.at(
        standing.mild_supporters,
        structure.supported.node[positions],
        np.repeat(change[moved], counts),
    )
