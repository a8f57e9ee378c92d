"""The documents that the jobs send; a test checks each against the schema."""

from __future__ import annotations

_NODE = """
fragment NodeFields on MemoryNode {
  id key kind payload validity confidence pinned versionId validFrom asOf
}
"""
_RUN = """
fragment RunFields on InvalidationRun { id status reason effect impactCount executedAt }
"""
_TASK = """
fragment TaskFields on RevalidationTask {
  id status attempt priority leaseToken leaseExpiresAt
  node { ...NodeFields } run { ...RunFields }
  standingSupporters { ...NodeFields } evidence { uri note }
}
"""
_FAILURE = """
fragment Failure on UserError {
  code message path
  ... on VersionConflict { current { ...NodeFields } }
  ... on PlanChanged { planHash }
  ... on RunTooLarge { limit }
}
"""

NODE = f"""
query Node($fleet: ID!, $by: NodeRef!, $asOf: DateTime) {{
  node(fleetId: $fleet, by: $by, asOf: $asOf) {{ ...NodeFields }}
}}
{_NODE}"""

NODES = f"""
query Nodes($fleet: ID!, $filter: NodeFilter, $first: Int!, $after: String, $asOf: DateTime) {{
  nodes(fleetId: $fleet, filter: $filter, first: $first, after: $after, asOf: $asOf) {{
    asOf
    nodes {{ ...NodeFields }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
{_NODE}"""

PREVIEW = f"""
query Preview($fleet: ID!, $root: NodeRef!, $effect: Validity!, $asOf: DateTime, $first: Int!) {{
  previewInvalidation(fleetId: $fleet, root: $root, effect: $effect, asOf: $asOf) {{
    planHash impactCount asOf
    impacts(first: $first) {{ nodes {{ depth from to node {{ ...NodeFields }} }} }}
  }}
}}
{_NODE}"""

INVALIDATE = f"""
mutation Invalidate($input: InvalidateInput!) {{
  invalidate(input: $input) {{ __typename ...RunFields ...Failure }}
}}
{_RUN}{_FAILURE}{_NODE}"""

PUT_NODES = f"""
mutation PutNodes($input: PutNodesInput!) {{
  putNodes(input: $input) {{
    __typename
    ... on NodesPut {{ nodes {{ ...NodeFields }} runs {{ ...RunFields }} instant }}
    ...Failure
  }}
}}
{_RUN}{_FAILURE}{_NODE}"""

LINK_NODES = f"""
mutation LinkNodes($input: LinkNodesInput!) {{
  linkNodes(input: $input) {{
    __typename
    ... on NodesLinked {{ edges {{ id }} run {{ ...RunFields }} instant }}
    ...Failure
  }}
}}
{_RUN}{_FAILURE}{_NODE}"""

REVERT_RUN = f"""
mutation RevertRun($input: RevertRunInput!) {{
  revertRun(input: $input) {{
    __typename
    ... on RunReverted {{ run {{ ...RunFields }} restoredIds leftAloneIds instant }}
    ...Failure
  }}
}}
{_RUN}{_FAILURE}{_NODE}"""

CLAIM = f"""
mutation Claim($input: ClaimRevalidationsInput!) {{
  claimRevalidations(input: $input) {{
    __typename
    ... on RevalidationsClaimed {{ tasks {{ ...TaskFields }} }}
    ...Failure
  }}
}}
{_TASK}{_RUN}{_FAILURE}{_NODE}"""

EXTEND = f"""
mutation Extend($input: ExtendLeaseInput!) {{
  extendLease(input: $input) {{
    __typename
    ... on LeaseExtended {{ task {{ ...TaskFields }} }}
    ...Failure
  }}
}}
{_TASK}{_RUN}{_FAILURE}{_NODE}"""

COMPLETE = f"""
mutation Complete($input: CompleteRevalidationInput!) {{
  completeRevalidation(input: $input) {{
    __typename
    ... on RevalidationCompleted {{
      node {{ ...NodeFields }} run {{ ...RunFields }}
      task {{ status attempt }} restoredCount instant
    }}
    ...Failure
  }}
}}
{_RUN}{_FAILURE}{_NODE}"""

REQUEUE = f"""
mutation Requeue($input: RequeueRevalidationInput!) {{
  requeueRevalidation(input: $input) {{
    __typename
    ... on RevalidationRequeued {{ task {{ ...TaskFields }} }}
    ...Failure
  }}
}}
{_TASK}{_RUN}{_FAILURE}{_NODE}"""

REPAIR = f"""
mutation Repair($input: RepairNodeInput!) {{
  repairNode(input: $input) {{
    __typename
    ... on NodeRepaired {{ node {{ ...NodeFields }} taskCount restoredCount instant }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

EVENTS_SO_FAR = """
query EventsSoFar($fleet: ID!) {
  events(fleetId: $fleet, first: 1) { asOf }
}
"""

EVENTS = """
subscription Events($fleet: ID!, $types: [EventType!], $after: String!) {
  events(fleetId: $fleet, types: $types, after: $after) {
    cursor type at fleetId node { id key validity } run { id reason } detail
  }
}
"""

ALL = (
    *(NODE, NODES, PREVIEW, INVALIDATE, PUT_NODES, LINK_NODES, REVERT_RUN, EVENTS_SO_FAR, EVENTS),
    *(CLAIM, EXTEND, COMPLETE, REQUEUE, REPAIR),
)
