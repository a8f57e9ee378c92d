"""SIGKILL in the middle of a rewind on a server: nothing has changed, and it can be done again."""

from __future__ import annotations

import signal
from contextlib import closing

from retrograph.resolvers.inputs import Invalidation
from retrograph.resolvers.invalidate import invalidate
from retrograph.resolvers.scope import Role, Scope
from retrograph.storage.records import NodeRef
from retrograph.storage.store import open_store
from tests.consistency import assert_consistent
from tests.dump import dump_fleet, present_of
from tests.storage.test_kill import make_layers, run_victim

NODES = 200
PARTS = 4
"""The rewind is killed at the end of each of so many parts, and so in its last statement, too."""


def test_a_client_killed_in_a_rewind_has_changed_nothing(url: str) -> None:
    make_layers(url, NODES)
    with closing(open_store(url)) as store:
        to, healthy = store.clock(1, 1), present_of(store, 1, 1)
        scope = Scope(store, 1, None, frozenset(Role))
        invalidate(scope, 1, Invalidation(NodeRef(key="root"), "a disaster"))
        # A rewind that is rewound: it takes as many statements as the ones that are killed.
        code, said = run_victim(url, "count", f"@{to}")
        assert code == 0, said
        code, _ = run_victim(url, "count", f"@{store.clock(1, 1) - 1}")
        assert code == 0
        felled = dump_fleet(store, 1, 1)
        statements = int(said.split()[0])
        for part in range(1, PARTS + 1):
            code, said = run_victim(url, f"statement:{statements * part // PARTS}", f"@{to}")
            assert code == -signal.SIGKILL, said
            assert dump_fleet(store, 1, 1) == felled
        code, said = run_victim(url, "count", f"@{to}")
        assert code == 0, said
        assert present_of(store, 1, 1) == healthy
        assert_consistent(store)
