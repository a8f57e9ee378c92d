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
_CHECKPOINT = """
fragment CheckpointFields on Checkpoint {
  executionId sessionId sequence stateNode payload schemaVersion idempotencyToken hash committedAt
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

COMMIT = f"""
mutation Commit($input: CommitCheckpointInput!) {{
  commitCheckpoint(input: $input) {{
    __typename
    ... on CheckpointCommitted {{ checkpoint {{ sequence hash }} }}
    ... on CheckpointConflict {{ head {{ sequence hash }} }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

CHECKPOINT = f"""
query OneCheckpoint($fleet: ID!, $execution: String!, $sequence: Long, $token: String) {{
  checkpoint(
    fleetId: $fleet, executionId: $execution, sequence: $sequence, idempotencyToken: $token
  ) {{ ...CheckpointFields }}
}}
{_CHECKPOINT}"""

CHECKPOINTS = f"""
query Checkpoints($fleet: ID!, $execution: String!, $before: Long, $first: Int!) {{
  checkpoints(fleetId: $fleet, executionId: $execution, before: $before, first: $first) {{
    nodes {{ ...CheckpointFields }}
  }}
}}
{_CHECKPOINT}"""

EXECUTIONS = """
query Executions($fleet: ID!, $prefix: String, $first: Int!, $after: String) {
  executions(fleetId: $fleet, keyPrefix: $prefix, first: $first, after: $after) {
    nodes { executionId }
    pageInfo { hasNextPage endCursor }
  }
}
"""

STEPS = """
query Steps($fleet: ID!, $execution: String!, $prefix: String, $first: Int!, $after: String) {
  steps(
    fleetId: $fleet, executionId: $execution, keyPrefix: $prefix, first: $first, after: $after
  ) {
    nodes { key name status result }
    pageInfo { hasNextPage endCursor }
  }
}
"""

RECORD_STEP = f"""
mutation RecordStep($input: RecordStepInput!) {{
  recordStep(input: $input) {{
    __typename
    ... on StepRecorded {{ replayed }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

RETAIN = f"""
mutation Retain($input: RetainCheckpointsInput!) {{
  retainCheckpoints(input: $input) {{
    __typename
    ... on CheckpointsRetained {{ removed }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

ROLLBACK = f"""
mutation Rollback($input: RollbackExecutionInput!) {{
  rollbackExecution(input: $input) {{
    __typename
    ... on CheckpointCommitted {{ checkpoint {{ sequence }} }}
    ... on CheckpointConflict {{ head {{ sequence hash }} }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

ERASE = f"""
mutation Erase($input: EraseCheckpointsInput!) {{
  eraseCheckpoints(input: $input) {{
    __typename
    ... on CheckpointsErased {{ checkpoints steps }}
    ...Failure
  }}
}}
{_FAILURE}{_NODE}"""

DELETE_EXECUTION = f"""
mutation DeleteExecution($input: DeleteExecutionInput!) {{
  deleteExecution(input: $input) {{
    __typename
    ... on ExecutionDeleted {{ instant }}
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
    *(COMMIT, CHECKPOINT, CHECKPOINTS, EXECUTIONS, STEPS, RECORD_STEP, RETAIN, DELETE_EXECUTION),
    *(ROLLBACK, ERASE),
)
