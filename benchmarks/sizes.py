"""What is measured on, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEBIAN = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "debian-bookworm.jsonl.gz"
"""The packages of a Linux distribution and what they depend on: 97,605 nodes, 376,992 edges."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Nodes of graphs, layers, versions a node, rounds; patience is in seconds.

    `open` are the fewest open tasks, `judged` how many judgements are timed as one; `draws` is how
    often it is drawn which nodes have changed.
    `commits` is how many checkpoints are put, or read, as one, and `writers` how many threads put.
    `batch` is how many reads of a node are timed as one, `file` what is imported; `answered` are
    the nodes of an answer, and `requests` how many are averaged. So many `subscribers` get so many
    `deliveries` in all. `told` commits are told one after another, and so many `readers` of them
    stand beside one that reads nothing. Domains are episodes × dimensions, `recalls` queries of
    each, `tasks` what working memory is simulated for.
    """

    small: int = 10_000
    large: int = 100_000
    served: int = 50_000
    depth: int = 20
    layers: int = 12
    versions: int = 20
    batch: int = 1_000
    patience: float = 10.0
    rounds: int = 9
    answered: int = 1_000
    requests: int = 40
    imports: int = 5
    server_rounds: int = 3
    open: int = 1_000
    judged: int = 40
    draws: int = 25
    subscribers: tuple[int, ...] = (10, 100, 1_000)
    deliveries: int = 100_000
    told: int = 400
    readers: int = 100
    commits: int = 100
    writers: int = 64
    file: Path = DEBIAN
    root: str = "src:glibc"
    domains: tuple[tuple[int, int], ...] = ((1_000, 1_536), (10_000, 1_536), (100_000, 1_536))
    large_domains: tuple[tuple[int, int], ...] = ((1_000_000, 384), (1_000_000, 1_536))
    recalls: int = 200
    tasks: int = 200


FULL = Sizes()
"""What the table reports."""

TINY = Sizes(
    small=60,
    large=120,
    served=60,
    depth=3,
    layers=3,
    versions=4,
    batch=5,
    patience=0.2,
    rounds=1,
    answered=12,
    requests=4,
    imports=1,
    server_rounds=1,
    open=30,
    judged=4,
    draws=2,
    commits=2,
    writers=3,
    root="supplier",
    subscribers=(2,),
    deliveries=12,
    told=4,
    readers=2,
    domains=((40, 8),),
    large_domains=((600, 16),),
    recalls=2,
    tasks=2,
)
"""What a test runs, to see that every benchmark still works."""
