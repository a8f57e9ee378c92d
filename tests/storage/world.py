"""A fleet with a random past, and what a naive reader says of it at any instant.

Everything is written by storage's own ways of opening and closing versions, one write after the
other, and is kept beside that as plain lists of versions.  Nodes go and come back; edges are
unlinked and linked again under the same id; some edges are broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlalchemy import insert

from retrograph.rules.edge_type import EdgeType
from retrograph.rules.validity import Validity
from retrograph.storage import tables
from retrograph.storage.records import EdgeRecord, EvidenceRecord, NodeKind, NodeRecord
from retrograph.storage.snapshot import Snapshot
from retrograph.storage.store import Store
from retrograph.storage.tables import Versioned
from retrograph.storage.versions import end, open_new, open_next
from retrograph.storage.write import Write

TENANT, FLEET = 1, 1
KEYS = ("a", "A", "ab", "aB", "ä", "b", "a\ud7ff", "a\ue000", "a\U0010ffff", "a\U0010ffffz", "é ")

Row = dict[str, Any]


@dataclass(slots=True)
class Version:
    """Values that held from `begin` on and before `end` (None: they still hold)."""

    begin: int
    end: int | None
    values: Row

    def holds(self, at: int) -> bool:
        return self.begin <= at and (self.end is None or at < self.end)


Timeline = list[Version]


def version_at(timeline: Timeline, at: int) -> Version | None:
    return next((version for version in timeline if version.holds(at)), None)


@dataclass
class Track:
    """The timelines of one versioned table, kept beside the table itself."""

    table: Versioned
    lines: dict[int, Timeline] = field(default_factory=dict)

    def open_new(self, write: Write, id: int, values: Row) -> None:
        open_new(write.snapshot, self.table, [{"id": id, **values}])
        self.lines.setdefault(id, []).append(Version(write.instant, None, values))

    def open_next(self, write: Write, id: int, changed: Row) -> None:
        open_next(write.snapshot, self.table, [{"id": id, **changed}])
        last = self.lines[id][-1]
        if last.begin == write.instant:
            last.values |= changed
            return
        last.end = write.instant
        self.lines[id].append(Version(write.instant, None, last.values | changed))

    def end(self, write: Write, id: int) -> None:
        end(write.snapshot, self.table, [id])
        last = self.lines[id][-1]
        if last.begin == write.instant:
            self.lines[id].pop()
        else:
            last.end = write.instant

    def opened(self) -> list[int]:
        """The ids that are there now."""
        return [id for id, line in self.lines.items() if line and line[-1].end is None]

    def gone(self) -> list[int]:
        """The ids that were there."""
        return [id for id, line in self.lines.items() if line and line[-1].end is not None]

    def at(self, at: int) -> dict[int, Version]:
        found = ((id, version_at(line, at)) for id, line in self.lines.items())
        return {id: version for id, version in found if version is not None}


class World:
    """Fleet 1 of tenant 1 with its past; `instants` are those of its writes."""

    def __init__(self, store: Store, seed: int, writes: int = 30) -> None:
        self.store = store
        self.instants: list[int] = []
        self.identities: dict[int, Row] = {}
        self.states = Track(tables.node_state)
        self.contents = Track(tables.node_content)
        self.edges = Track(tables.edge)
        self.evidence = Track(tables.evidence)
        self._random = Random(seed)
        self._next_id = 100
        self.strangers = [self._stranger(1, 2), self._stranger(2, 1)]
        for _ in range(writes):
            self._write()

    def moments(self) -> Iterator[int]:
        """Each instant of a write, and the one before it."""
        for instant in self.instants:
            yield from (instant - 1, instant)

    def node(self, id: int, at: int) -> NodeRecord | None:
        """The node as of an instant."""
        state = version_at(self.states.lines.get(id, []), at)
        content = version_at(self.contents.lines.get(id, []), at)
        if state is None or content is None:
            return None
        return self.record(id, state, content, None, at)

    def nodes(self, at: int) -> dict[int, NodeRecord]:
        found = ((id, self.node(id, at)) for id in sorted(self.identities))
        return {id: node for id, node in found if node is not None}

    def record(
        self, id: int, state: Version, content: Version, valid_to: int | None, as_of: int
    ) -> NodeRecord:
        confidence = state.values["confidence"]
        base = content.values["base_confidence"]
        identity = self.identities[id]
        return NodeRecord(
            tenant_id=TENANT,
            fleet_id=FLEET,
            id=id,
            key=identity["key"],
            kind=NodeKind(identity["kind"]),
            created_at=identity["created_at"],
            validity=Validity(state.values["validity"]),
            projected=Validity(state.values["projected"]),
            pinned=bool(state.values["pinned"]),
            pin_reason=state.values["pin_reason"],
            confidence=base if confidence is None else confidence,
            base_confidence=base,
            payload=content.values["payload"],
            contract_hash=content.values["contract_hash"],
            expires_at=content.values["expires_at"],
            run_id=state.values["run_id"],
            run_ordinal=state.values["run_ordinal"],
            valid_from=max(state.begin, content.begin),
            valid_to=valid_to,
            as_of=as_of,
        )

    def edge(self, id: int, at: int) -> EdgeRecord | None:
        """The edge as of an instant, None where it is broken."""
        version = version_at(self.edges.lines.get(id, []), at)
        if version is None:
            return None
        source, target = version.values["source_id"], version.values["target_id"]
        broken = source == target or not all(self.node(each, at) for each in (source, target))
        kind = EdgeType(version.values["type"])
        return (
            None
            if broken
            else EdgeRecord(TENANT, FLEET, id, kind, source, target, version.begin, None, at)
        )

    def edges_at(self, at: int) -> list[EdgeRecord]:
        """The edges that reads may give, by id."""
        found = (self.edge(id, at) for id in sorted(self.edges.lines))
        return [edge for edge in found if edge is not None]

    def evidence_at(self, at: int) -> dict[int, list[EvidenceRecord]]:
        found: dict[int, list[EvidenceRecord]] = {}
        for id, version in sorted(self.evidence.at(at).items()):
            values = version.values
            record = EvidenceRecord(
                id, values["node_id"], values["uri"], values["note"], version.begin, at
            )
            found.setdefault(values["node_id"], []).append(record)
        return found

    def _write(self) -> None:
        def job(writes: dict[int, Write]) -> int:
            write = writes[FLEET]
            acts = [self._create] * 5 if not self.instants else []
            for act in (*acts, *self._random.choices(self._acts(), k=self._random.randint(1, 6))):
                act(write)
            return write.instant

        self.instants.append(self.store.write_all(TENANT, [FLEET], job))

    def _acts(self) -> list[Callable[[Write], None]]:
        often = [self._create, self._change_state, self._change_state, *[self._link] * 4]
        seldom = [self._change_content, self._unlink, self._relink, self._break, self._hang]
        return [*often, *seldom, self._remove, self._return, self._change_evidence]

    def _create(self, write: Write) -> None:
        id = self._id()
        used = {identity["key"] for identity in self.identities.values()}
        key = self._random.choice([None, *(key for key in KEYS if key not in used)])
        row = {"id": id, "key": key, "kind": self._random.randint(1, 2)}
        self.identities[id] = row | {"created_at": write.instant}
        _insert(write.snapshot, tables.node, self.identities[id])
        self._open(write, id)

    def _open(self, write: Write, id: int) -> None:
        self.states.open_new(write, id, self._state())
        self.contents.open_new(write, id, self._content())

    def _change_state(self, write: Write) -> None:
        for id in self._some(self.states.opened()):
            self.states.open_next(write, id, self._state())

    def _change_content(self, write: Write) -> None:
        for id in self._some(self.contents.opened()):
            self.contents.open_next(write, id, self._content())

    def _remove(self, write: Write) -> None:
        """Often with its edges; those that stay are broken from now on."""
        for id in self._some(self.states.opened()):
            self.states.end(write, id)
            self.contents.end(write, id)
            if self._random.random() < 0.7:
                for edge in self.edges.opened():
                    values = self.edges.lines[edge][-1].values
                    if id in (values["source_id"], values["target_id"]):
                        self.edges.end(write, edge)

    def _return(self, write: Write) -> None:
        for id in self._some(self.states.gone()):
            self._open(write, id)

    def _link(self, write: Write) -> None:
        nodes = self.states.opened()
        for _ in range(self._random.randint(1, 4) if len(nodes) > 1 else 0):
            source, target = self._random.sample(nodes, 2)
            self._open_edge(write, self._id(), source, target)

    def _break(self, write: Write) -> None:
        nodes = self.states.opened()
        if nodes:
            node, other = self._random.choice(nodes), self._random.choice([7, *self.strangers])
            pairs = [(node, node), (node, other), (other, node)]
            self._open_edge(write, self._id(), *self._random.choice(pairs))

    def _open_edge(self, write: Write, id: int, source: int, target: int) -> None:
        kind = self._random.choice(list(EdgeType))
        values = {"source_id": source, "target_id": target, "type": int(kind)}
        if values not in [self.edges.lines[each][-1].values for each in self.edges.opened()]:
            self.edges.open_new(write, id, values)

    def _unlink(self, write: Write) -> None:
        for id in self._some(self.edges.opened()):
            self.edges.end(write, id)

    def _relink(self, write: Write) -> None:
        for id in self._some(self.edges.gone()):
            values = self.edges.lines[id][-1].values
            self._open_edge(write, id, values["source_id"], values["target_id"])

    def _hang(self, write: Write) -> None:
        for node in self._some(self.states.opened()):
            id = self._id()
            values = {"node_id": node, "uri": f"urn:{id}", "note": None}
            self.evidence.open_new(write, id, values)

    def _change_evidence(self, write: Write) -> None:
        for id in self._some(self.evidence.opened()):
            if self._random.random() < 0.5:
                self.evidence.open_next(write, id, {"note": f"at {write.instant}"})
            else:
                self.evidence.end(write, id)

    def _state(self) -> Row:
        validity = self._random.randint(1, 6)
        return {
            "validity": validity,
            "projected": self._random.choice([validity, 4]),
            "pinned": int(self._random.random() < 0.3),
            "confidence": self._random.choice([None, 0.25]),
            "run_id": self._random.choice([None, 3]),
            "run_ordinal": self._random.choice([None, 5]),
            "pin_reason": self._random.choice([None, "asked for"]),
        }

    def _content(self) -> Row:
        return {
            "payload": self._random.choice([None, '{"a":1}', '"x"']),
            "contract_hash": self._random.choice([None, "c0ffee"]),
            "base_confidence": self._random.choice([0.5, 1.0]),
            "expires_at": self._random.choice([None, 1]),
        }

    def _some(self, ids: Iterable[int]) -> list[int]:
        known = list(ids)
        return self._random.sample(known, min(len(known), self._random.randint(1, 2)))

    def _id(self) -> int:
        # Neither dense nor in the order of creation, as they are after an import or a rewind.
        self._next_id += self._random.randint(1, 5)
        return self._next_id if self._random.random() < 0.8 else 10_000 - self._next_id

    def _stranger(self, tenant: int, fleet: int) -> int:
        id = self._id()

        def job(writes: dict[int, Write]) -> None:
            write = writes[fleet]
            row = {"id": id, "key": "a", "kind": 1, "created_at": write.instant}
            _insert(write.snapshot, tables.node, row)
            open_new(write.snapshot, tables.node_state, [{"id": id, **self._state()}])
            open_new(write.snapshot, tables.node_content, [{"id": id, **self._content()}])

        self.store.write_all(tenant, [fleet], job)
        return id


def _insert(s: Snapshot, table: Any, row: Row) -> None:
    s.connection.execute(insert(table).values(tenant_id=s.tenant_id, fleet_id=s.fleet_id, **row))
