"""A real graph: the packages of Debian 12, their dependencies, and a point release that followed.

`sample` keeps the most depended-upon packages and a tenth of the rest.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from functools import cache
from io import BytesIO
from typing import Any, BinaryIO
from zlib import crc32

from tests.shared import shared

ROOT_KEY = "src:glibc"
PROPAGATING = {"DERIVED_FROM", "REQUIRES", "VALID_ONLY_WHEN", "SUPPORTED_BY", "OBSERVED_FROM"}
HUBS_KEPT = 400

Line = dict[str, Any]


@cache
def lines(name: str) -> tuple[Line, ...]:
    """The objects of a file of the data, in order."""
    with gzip.open(shared(f"data/{name}.jsonl.gz"), "rb") as file:
        return tuple(json.loads(line) for line in file)


@cache
def graph(sampled: bool) -> tuple[Line, ...]:
    """The lines of the graph, or of its sample."""
    whole = lines("debian-bookworm")
    if not sampled:
        return whole
    wanted = _kept(whole)
    return tuple(line for line in whole if keys_of(line) <= wanted)


@cache
def updates(sampled: bool) -> tuple[Line, ...]:
    """The supersessions of the point release whose old nodes are in the graph."""
    known = {line["node"]["key"] for line in graph(sampled) if "node" in line}
    return tuple(line for line in lines("debian-bookworm-updates") if keys_of(line) <= known)


def as_file(chosen: Iterable[Line]) -> BinaryIO:
    """The lines as an import takes them."""
    return BytesIO(b"\n".join(json.dumps(line).encode() for line in chosen))


@cache
def dependents(sampled: bool) -> Mapping[str, frozenset[str]]:
    """Whom each node passes something on to."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in graph(sampled):
        if "edge" in line and line["edge"]["type"] in PROPAGATING:
            found[line["edge"]["source"]].add(line["edge"]["target"])
    return {source: frozenset(targets) for source, targets in found.items()}


@cache
def dependencies(sampled: bool) -> Mapping[str, frozenset[str]]:
    """The same, the other way round."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for source, targets in dependents(sampled).items():
        for target in targets:
            found[target].add(source)
    return {target: frozenset(sources) for target, sources in found.items()}


def hubs(sampled: bool) -> list[str]:
    """The nodes with the most dependents, and those with the most dependencies."""
    ends = (dependents(sampled), dependencies(sampled))
    return [key for way in ends for key in sorted(way, key=lambda key: -len(way[key]))[:3]]


def depths(way: Mapping[str, frozenset[str]], start: str, most: int) -> dict[str, int]:
    """How far everything is that lies up to `most` steps from a node, itself not counted."""
    found, waiting = {start: 0}, deque([start])
    while waiting:
        key = waiting.popleft()
        if found[key] < most:
            fresh = [other for other in way.get(key, ()) if other not in found]
            found.update(dict.fromkeys(fresh, found[key] + 1))
            waiting.extend(fresh)
    del found[start]
    return found


def keys_of(line: Line) -> set[str]:
    if "node" in line:
        return {line["node"]["key"]}
    if "edge" in line:
        return {line["edge"]["source"], line["edge"]["target"]}
    return {line["supersede"]["key"]}


def _kept(whole: Iterable[Line]) -> set[str]:
    degrees = Counter(line["edge"]["source"] for line in whole if "edge" in line)
    hubs = {key for key, _ in degrees.most_common(HUBS_KEPT)}
    keys = {line["node"]["key"] for line in whole if "node" in line}
    updated = {line["supersede"]["key"] for line in lines("debian-bookworm-updates")}
    chosen = {key for key in keys if crc32(key.encode()) % 10 == 0}
    return {ROOT_KEY} | hubs | chosen | (updated & keys)
