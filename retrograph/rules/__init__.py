"""The laws of validity, time and walks: pure values in, pure values out.

validity, edge_type        the lattice and the matrix
cascade                    what falls: `cascade(graph, seeds)`; `plan` names its outcome
  graph ── structure       a fleet's graph as columns of numbers (`arrays`)
  seeding                  how a run starts; `run` is its state while it goes on
  rounds_narrow, _wide     one round, node by node or as columns
  standing                 which supporters stand; `standing_update` across changes of a graph,
                           `standing_change` while a run takes standing away
  support, _narrow, _wide  the judgement of SUPPORTED_BY targets, which asks `standing_change`
  chains                   causes, depths and the order of impacts, at the end
reversal                   undoing a run, and letting a pinned node go
condensation, waiting      components of open work, and how much waits on each task
walk, paths                breadth-first walks and simple paths, over neighbours supplied lazily
checkpoint, chain, anchor  the hash of a checkpoint, the walk over a chain, what retention leaves
upcasting                  old payloads in the current version of their schema
instant, cursor            times and places in text
canonical_json, limits     what may be stored, and how much
errors                     the failures that a caller can act on
"""
