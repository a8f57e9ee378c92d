"""What callers give: input types, and how they are read into the values of the use cases.

What is not given stays as it is, and null clears.
"""

from __future__ import annotations

from typing import Any

import strawberry

from retrograph.resolvers import inputs
from retrograph.resolvers.rewind_fleet import Rewind
from retrograph.rules.errors import FieldPath
from retrograph.rules.limits import MAX_KEY_LENGTH, check_batch, check_id, check_text
from retrograph.schema.enums import EdgeType, NodeKind, OnChange, RunStatus, Validity
from retrograph.schema.scalars import JSON, DateTime
from retrograph.storage import filters, records

MUTATION: FieldPath = ("input",)


@strawberry.input(one_of=True, description="Names a node by exactly one of its id and its key.")
class NodeRef:
    id: strawberry.ID | None = strawberry.field(default=strawberry.UNSET, description="Its id.")
    key: str | None = strawberry.field(default=strawberry.UNSET, description="Its key.")

    def read(self, field: FieldPath) -> records.NodeRef:
        """The node that `field` names."""
        if self.id is strawberry.UNSET:
            return records.NodeRef(key=check_text(self.key, (*field, "key"), MAX_KEY_LENGTH))
        return records.NodeRef(id=check_id(self.id, (*field, "id")))


@strawberry.input(description="Narrows a list of nodes down: all that is given must hold.")
class NodeFilter:
    kind: NodeKind | None = strawberry.field(default=None, description="Of this kind.")
    validity: list[Validity] | None = strawberry.field(
        default=None, description="Of one of these validities."
    )
    pinned: bool | None = strawberry.field(default=None, description="Pinned, or not.")
    ids: list[strawberry.ID] | None = strawberry.field(
        default=None, description="With one of these ids; at most 1,000."
    )
    keys: list[str] | None = strawberry.field(
        default=None, description="With one of these keys; at most 1,000."
    )
    key_prefix: str | None = strawberry.field(
        default=None, description="With a key that begins like this, compared byte by byte."
    )

    def read(self) -> filters.NodeFilter:
        """The filter as storage takes it."""
        prefix = self.key_prefix
        return filters.NodeFilter(
            kind=self.kind,
            validity=None if self.validity is None else frozenset(self.validity),
            pinned=self.pinned,
            ids=_ids(self.ids),
            keys=_keys(self.keys),
            key_prefix=None if prefix is None else _key(prefix, ("filter", "keyPrefix")),
        )


@strawberry.input(description="Narrows a stream down: all that is given must hold.")
class FeedFilter(NodeFilter):
    subtree_of: NodeRef | None = strawberry.field(
        default=None,
        description=(
            "This node, or one that depends on it, directly or not; at most 100,000 nodes."
        ),
    )

    def read_feed(self) -> tuple[filters.NodeFilter, records.NodeRef | None]:
        """The filter, and the root of the subtree."""
        root = self.subtree_of
        return self.read(), None if root is None else root.read(("filter", "subtreeOf"))


@strawberry.input(description="Narrows a list of edges down: all that is given must hold.")
class EdgeFilter:
    type: list[EdgeType] | None = strawberry.field(
        default=None, description="Of one of these types."
    )
    source: NodeRef | None = strawberry.field(default=None, description="Out of this node.")
    target: NodeRef | None = strawberry.field(default=None, description="Into this node.")

    def read(
        self,
    ) -> tuple[frozenset[EdgeType] | None, records.NodeRef | None, records.NodeRef | None]:
        """The types, the source and the target as the use case takes them."""
        return (
            None if self.type is None else frozenset(self.type),
            None if self.source is None else self.source.read(("filter", "source")),
            None if self.target is None else self.target.read(("filter", "target")),
        )


@strawberry.input(description="Narrows a list of runs down: all that is given must hold.")
class RunFilter:
    status: list[RunStatus] | None = strawberry.field(
        default=None, description="Of one of these, as of the instant of reading."
    )
    root: strawberry.ID | None = strawberry.field(
        default=None, description="Started from the node with this id."
    )
    reason: str | None = strawberry.field(default=None, description="For exactly this reason.")

    def read(self) -> filters.RunFilter:
        """The filter as storage takes it."""
        root, reason = self.root, self.reason
        return filters.RunFilter(
            status=None if self.status is None else frozenset(self.status),
            root_id=None if root is None else check_id(root, ("filter", "root")),
            reason=None if reason is None else check_text(reason, ("filter", "reason")),
        )


@strawberry.input(
    description=(
        "A node to make or to update: a key or id that exists is updated. What is not given stays; "
        "null clears. A node without key and id is made anew."
    )
)
class NodeInput:
    key: str | None = strawberry.field(default=None, description="Its key, unique in its fleet.")
    id: strawberry.ID | None = strawberry.field(
        default=None, description="Its id, if it exists; give this or the key."
    )
    kind: NodeKind | None = strawberry.field(
        default=None, description="Needed for a new node; it never changes."
    )
    payload: JSON | None = strawberry.field(
        default=strawberry.UNSET,
        description="What it says; at most 1 MB of canonical JSON, numbers up to 2^53 - 1.",
    )
    contract_hash: str | None = strawberry.field(
        default=strawberry.UNSET, description="The contract that a rule stands for."
    )
    confidence: float | None = strawberry.field(
        default=strawberry.UNSET, description="Its base confidence, from 0 to 1; at first 1."
    )
    expires_at: DateTime | None = strawberry.field(
        default=strawberry.UNSET, description="When it is to be invalidated by the passage of time."
    )
    expected_version: strawberry.ID | None = strawberry.field(
        default=None, description="The `versionId` that it must have; else nothing is changed."
    )

    def read(self, field: FieldPath) -> inputs.NodeInput:
        """The node as the use cases take it."""
        return inputs.NodeInput(
            key=self.key,
            id=None if self.id is None else check_id(self.id, (*field, "id")),
            kind=self.kind,
            payload=_given(self.payload),
            contract_hash=_given(self.contract_hash),
            confidence=_given(self.confidence),
            expires_at=_given(self.expires_at),
            expected_version=self.expected_version,
        )


@strawberry.input(description="Nodes to make or to update, all or none.")
class PutNodesInput:
    fleet_id: strawberry.ID = strawberry.field(description="Their fleet.")
    nodes: list[NodeInput] = strawberry.field(description="1 to 1,000 nodes.")
    on_change: OnChange = strawberry.field(
        default=OnChange.PROPAGATE, description="What changed content does to dependents."
    )

    def read(self) -> list[inputs.NodeInput]:
        """The nodes as the use case takes them."""
        check_batch(len(self.nodes), field=(*MUTATION, "nodes"))
        return [
            each.read((*MUTATION, "nodes", str(place))) for place, each in enumerate(self.nodes)
        ]


@strawberry.input(description="An edge to make: the target depends on the source.")
class EdgeInput:
    source: NodeRef = strawberry.field(description="What is depended upon.")
    target: NodeRef = strawberry.field(description="What depends.")
    type: EdgeType = strawberry.field(description="How it depends.")

    def read(self, field: FieldPath) -> inputs.EdgeInput:
        """The edge as the use case takes it."""
        source = self.source.read((*field, "source"))
        return inputs.EdgeInput(source, self.target.read((*field, "target")), self.type)


@strawberry.input(
    description="Edges to make, all or none; one that exists already is returned as it is."
)
class LinkNodesInput:
    fleet_id: strawberry.ID = strawberry.field(description="Their fleet.")
    edges: list[EdgeInput] = strawberry.field(description="1 to 1,000 edges.")

    def read(self) -> list[inputs.EdgeInput]:
        """The edges as the use case takes them."""
        check_batch(len(self.edges), field=(*MUTATION, "edges"))
        return [
            each.read((*MUTATION, "edges", str(place))) for place, each in enumerate(self.edges)
        ]


@strawberry.input(description="Edges to take away, all or none. It changes no node.")
class UnlinkNodesInput:
    fleet_id: strawberry.ID = strawberry.field(description="Their fleet.")
    edges: list[strawberry.ID] = strawberry.field(description="The ids of 1 to 1,000 edges.")

    def read(self) -> list[int]:
        """The ids as the use case takes them."""
        field = (*MUTATION, "edges")
        check_batch(len(self.edges), field=field)
        return [check_id(each, (*field, str(place))) for place, each in enumerate(self.edges)]


@strawberry.input(description="A node to pin, or to let go.")
class PinNodeInput:
    fleet_id: strawberry.ID = strawberry.field(description="Its fleet.")
    node: NodeRef = strawberry.field(description="The node.")
    pinned: bool = strawberry.field(
        description=(
            "True keeps its validity against cascades; false gives it what cascades have left on "
            "it, as a run of its own."
        )
    )
    reason: str | None = strawberry.field(
        default=None, description="Why; left out, a pin that is there already keeps its reason."
    )
    expected_version: strawberry.ID | None = strawberry.field(
        default=None, description="The `versionId` that it must have; else nothing is changed."
    )


@strawberry.input(description="Evidence to hang on a node.")
class AddEvidenceInput:
    fleet_id: strawberry.ID = strawberry.field(description="The node's fleet.")
    node: NodeRef = strawberry.field(description="The node.")
    uri: str = strawberry.field(
        description="Where it is found; one that hangs there already takes the new note."
    )
    note: str | None = strawberry.field(default=None, description="What it shows.")


@strawberry.input(description="A belief to knock out, with all that rests on it.")
class InvalidateInput:
    fleet_id: strawberry.ID = strawberry.field(description="The node's fleet.")
    root: NodeRef = strawberry.field(description="The node to start from.")
    reason: str = strawberry.field(description="Why; not empty.")
    effect: Validity = strawberry.field(
        default=Validity.INVALID, description="What the root becomes: a validity not healthy."
    )
    effective_at: DateTime | None = strawberry.field(
        default=None,
        description="Since when the reason holds; where it lies in the future, the request waits.",
    )
    idempotency_key: str | None = strawberry.field(
        default=None, description="The same request with the same key is run once."
    )
    expected_plan: str | None = strawberry.field(
        default=None,
        description="The `planHash` of a preview; another cascade is refused.",
    )
    expected_version: strawberry.ID | None = strawberry.field(
        default=None, description="The `versionId` that the root must have."
    )

    def read(self) -> inputs.Invalidation:
        """The request as the use case takes it."""
        return inputs.Invalidation(
            root=self.root.read((*MUTATION, "root")),
            reason=self.reason,
            effect=self.effect,
            effective_at=self.effective_at,
            idempotency_key=self.idempotency_key,
            expected_plan=self.expected_plan,
            expected_version=self.expected_version,
        )


@strawberry.input(description="A node to replace by another.")
class SupersedeInput:
    fleet_id: strawberry.ID = strawberry.field(description="The nodes' fleet.")
    old: NodeRef = strawberry.field(description="The node to replace.")
    by: NodeInput = strawberry.field(description="What takes its place; it may exist already.")
    reason: str = strawberry.field(description="Why; not empty.")
    idempotency_key: str | None = strawberry.field(
        default=None, description="The same request with the same key is run once."
    )
    expected_plan: str | None = strawberry.field(
        default=None,
        description="The `planHash` of a preview with the effect SUPERSEDED.",
    )

    def read(self) -> inputs.Supersession:
        """The request as the use case takes it."""
        return inputs.Supersession(
            old=self.old.read((*MUTATION, "old")),
            by=self.by.read((*MUTATION, "by")),
            reason=self.reason,
            idempotency_key=self.idempotency_key,
            expected_plan=self.expected_plan,
        )


@strawberry.input(description="A scheduled invalidation to cancel.")
class CancelScheduledInvalidationInput:
    fleet_id: strawberry.ID = strawberry.field(description="Its fleet.")
    id: strawberry.ID = strawberry.field(description="Its id.")


@strawberry.input(description="A fleet to set back to an earlier instant.")
class RewindFleetInput:
    fleet_id: strawberry.ID = strawberry.field(description="The fleet.")
    to: DateTime = strawberry.field(description="The instant whose present is to come back.")
    dry_run: bool = strawberry.field(
        default=True, description="Only tells what would be done, and how to agree to it."
    )
    confirm: str | None = strawberry.field(
        default=None, description="The `confirmation` of a dry run, to the letter."
    )
    reason: str | None = strawberry.field(default=None, description="Why.")

    def read(self) -> Rewind:
        """The request as the use case takes it."""
        return Rewind(self.to, self.dry_run, self.confirm, self.reason)


@strawberry.input(description="A run to undo.")
class RevertRunInput:
    fleet_id: strawberry.ID = strawberry.field(description="The run's fleet.")
    run_id: strawberry.ID = strawberry.field(description="The run.")
    reason: str | None = strawberry.field(default=None, description="Why.")


def _given(value: Any) -> Any:
    return inputs.UNSET if value is strawberry.UNSET else value


def _ids(ids: list[strawberry.ID] | None) -> frozenset[int] | None:
    if ids is None:
        return None
    field = ("filter", "ids")
    _check_number(len(ids), field)
    return frozenset(check_id(each, (*field, str(place))) for place, each in enumerate(ids))


def _keys(keys: list[str] | None) -> frozenset[str] | None:
    if keys is None:
        return None
    field = ("filter", "keys")
    _check_number(len(keys), field)
    return frozenset(_key(each, (*field, str(place))) for place, each in enumerate(keys))


def _key(key: str, field: FieldPath) -> str:
    return check_text(key, field, MAX_KEY_LENGTH, required=False)


def _check_number(count: int, field: FieldPath) -> None:
    """Filters name at most a batch; an empty list names nothing, and nothing is found."""
    if count:
        check_batch(count, field=field)
