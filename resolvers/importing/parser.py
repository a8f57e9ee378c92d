"""Reads an import file into a batch, line by line; the first wrong line refuses the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from retrograph.resolvers.importing import fields
from retrograph.resolvers.importing.batch import (
    Batch,
    FleetBatch,
    GivenEvidence,
    GivenNode,
    GivenRun,
)
from retrograph.resolvers.importing.fields import read_fields
from retrograph.resolvers.importing.json_text import read_json
from retrograph.resolvers.inputs import UNSET, NodeInput
from retrograph.rules.errors import ImportRejected, InvalidInput
from retrograph.rules.validity import Validity

SUPERSEDED_REASON = "SUPERSEDED"
"""The reason of a supersession that gives none."""

_KEY = frozenset({"key"})
_EDGE = frozenset({"source", "target", "type"})
_EVIDENCE = frozenset({"node", "uri"})
_SUPERSEDE = frozenset({"key", "by"})
_INVALIDATE = frozenset({"key", "reason"})


def parse_batch(lines: Iterable[tuple[int, bytes]], default_fleet: int) -> Batch:
    """What numbered lines say; raises `ImportRejected` with the line and the reason."""
    parser = _Parser(default_fleet)
    number = 0
    for number, line in lines:
        if line.isspace():
            continue
        try:
            parser.take(number, line)
        except InvalidInput as error:
            raise ImportRejected(number, _reason(error)) from None
    parser.batch.lines = number
    return parser.batch


def _reason(error: InvalidInput) -> str:
    return f"{'.'.join(error.path)}: {error.message}" if error.path else error.message


class _Parser:
    def __init__(self, default_fleet: int) -> None:
        self.batch = Batch()
        self._default_fleet = default_fleet
        self._heads: dict[str, Callable[[int, Any], None]] = {
            "node": self._node,
            "edge": self._edge,
            "evidence": self._evidence,
            "supersede": self._supersede,
            "invalidate": self._invalidate,
        }

    def take(self, number: int, line: bytes) -> None:
        """Takes in one line that isn't blank; raises `InvalidInput` or `ImportRejected`."""
        value = read_json(line)
        if type(value) is not dict or len(value) != 1:
            raise InvalidInput(f"Give an object with one head: {', '.join(self._heads)}.")
        ((head, body),) = value.items()
        act = self._heads.get(head)
        if act is None:
            raise InvalidInput(
                f"There is no head {head[:40]!a}; the heads are {', '.join(self._heads)}."
            )
        try:
            act(number, body)
        except InvalidInput as error:
            raise InvalidInput(error.message, path=(head, *error.path)) from None

    def _node(self, line: int, body: object) -> None:
        given = read_fields(body, fields.NODE, _KEY)
        fleet = self._fleet(given)
        place = fleet.place(given.pop("key"), line, "key")
        known = fleet.nodes.get(place)
        if known is None:
            fleet.nodes[place] = GivenNode(line, self.batch.nodes, given)
            self.batch.nodes += 1
            return
        if "kind" in given and given["kind"] != known.fields.get("kind", given["kind"]):
            raise InvalidInput(f"Line {known.line} gives another kind.", path=("kind",))
        known.fields.update(given)

    def _edge(self, line: int, body: object) -> None:
        given = read_fields(body, fields.EDGE, _EDGE)
        fleet = self._fleet(given)
        if given["source"] == given["target"]:
            raise InvalidInput("A node can't depend on itself.")
        edge = (
            fleet.place(given["source"], line, "source"),
            fleet.place(given["target"], line, "target"),
            given["type"],
        )
        if edge not in fleet.edges:
            fleet.edges[edge] = self.batch.edges
            self.batch.edges += 1

    def _evidence(self, line: int, body: object) -> None:
        given = read_fields(body, fields.EVIDENCE, _EVIDENCE)
        fleet = self._fleet(given)
        named = fleet.place(given["node"], line, "node"), given["uri"]
        known, note = fleet.evidence.get(named), given.get("note")
        if known is None:
            fleet.evidence[named] = GivenEvidence(self.batch.evidence, note)
            self.batch.evidence += 1
        elif note is not None:
            fleet.evidence[named] = GivenEvidence(known.ordinal, note)

    def _supersede(self, line: int, body: object) -> None:
        given = read_fields(body, fields.SUPERSEDE, _SUPERSEDE)
        fleet_id = self._fleet_id(given)
        by = self._by(given, fleet_id)
        reason = given.get("reason", SUPERSEDED_REASON)
        run = GivenRun(line, fleet_id, given["key"], reason, Validity.SUPERSEDED, by)
        self.batch.runs.append(run)

    def _by(self, given: dict[str, Any], fleet_id: int) -> NodeInput:
        try:
            by = read_fields(given["by"], fields.BY, _KEY)
        except InvalidInput as error:
            raise InvalidInput(error.message, path=("by", *error.path)) from None
        if by.get("fleet", fleet_id) != fleet_id:
            raise InvalidInput("Both nodes are of one fleet.", path=("by", "fleet"))
        if by["key"] == given["key"]:
            raise InvalidInput("A node can't replace itself.", path=("by", "key"))
        return NodeInput(
            key=by["key"],
            kind=by.get("kind"),
            payload=by.get("payload", UNSET),
            contract_hash=by.get("contract_hash", UNSET),
            confidence=by.get("base_confidence", UNSET),
            expires_at=by.get("expires_at", UNSET),
        )

    def _invalidate(self, line: int, body: object) -> None:
        given = read_fields(body, fields.INVALIDATE, _INVALIDATE)
        effect = given.get("effect", Validity.INVALID)
        fleet_id = self._fleet_id(given)
        self.batch.runs.append(
            GivenRun(line, fleet_id, given["key"], given["reason"], effect, None)
        )

    def _fleet_id(self, given: dict[str, Any]) -> int:
        fleet_id: int = given.pop("fleet", self._default_fleet)
        return fleet_id

    def _fleet(self, given: dict[str, Any]) -> FleetBatch:
        return self.batch.fleet(given.pop("fleet", self._default_fleet))
