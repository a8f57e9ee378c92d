"""Finds tables of tenants in SQL that no predicate binds to a tenant and a fleet."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from retrograph.storage.tables import metadata

TABLES = sorted(
    (name for name, table in metadata.tables.items() if "fleet_id" in table.c),
    key=len,
    reverse=True,
)
"""The tables whose rows belong to tenants; the directory of tenants is nobody's."""

_THEN = r"(?:\s+FOR SYSTEM_TIME (?:ALL|AS OF (?:\w+\(\? \* 0\.000001\)|\?)))?"
_NAMED = r"(?:\s+AS\s+(?P<alias>\w+))?"
_REFERENCE = re.compile(
    rf"(?<![\w.`\"])(?P<table>{'|'.join(TABLES)})(?![\w.`\"]){_THEN}{_NAMED}(?P<rest>\s*\([^)]*\))?",
    re.IGNORECASE,
)
_ALLOWED = (
    re.compile(r"\ASELECT sum\(fleet\.clock\) AS sum_1\s+FROM fleet\Z", re.IGNORECASE),
    re.compile(r"FROM fleet\s+WHERE fleet\.tenant_id = (?:\?|%\w+) ORDER BY"),
)
_INNERMOST = re.compile(r"\([^()\0]*\)")
_COMMENTS = re.compile(r"--[^\n]*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A table in a statement: the name of its columns there, and the SELECT it belongs to.

    `own` is the text of that SELECT, without what stands in parentheses in it; `alone` tells that
    it reads no other table, so that columns may stand without a name.
    """

    alias: str
    own: str
    inserted: bool
    alone: bool = False


def unbound(statement: str) -> list[str]:
    """The names of tables that the statement reads or writes beyond one tenant's fleet.

    A table is bound by `tenant_id = …` and `fleet_id = …` (or `IN`) on itself, by an INSERT that
    gives both columns, or by an id that must equal one of a table that is bound: an id belongs to
    one fleet of one tenant for ever.
    """
    found = _references(_COMMENTS.sub("", statement))
    bound = [each for each in found if each.inserted or _has_predicates(each)]
    while joined := [each for each in found if each not in bound and _is_joined(each, bound)]:
        bound += joined
    return sorted({each.alias for each in found if each not in bound})


def astray(statement: str) -> list[str]:
    """The same, without what may look at more than one fleet.

    The clocks are polled for news of any fleet; a caller's fleets are listed by tenant.
    """
    return [] if any(each.search(statement) for each in _ALLOWED) else unbound(statement)


def _references(sql: str) -> list[Reference]:
    found = [
        Reference(
            match["alias"] or match["table"],
            _select_around(sql, match.start()),
            _is_insert(sql, match) and {"tenant_id", "fleet_id"} <= _words(match["rest"]),
        )
        for match in _REFERENCE.finditer(sql)
    ]
    read = Counter(each.own for each in found if not each.inserted)
    return [replace(each, alone=read[each.own] == 1) for each in found]


def _select_around(sql: str, place: int) -> str:
    """The SELECT in which a place of the text stands: in its parentheses, between its UNIONs."""
    begin, depth = place, 0
    while begin > 0 and depth <= 0:
        begin -= 1
        depth += {"(": 1, ")": -1}.get(sql[begin], 0)
    begin += depth > 0
    end, depth = place, 0
    while end < len(sql) and depth >= 0:
        depth += {"(": 1, ")": -1}.get(sql[end], 0)
        end += 1
    marked = f"{sql[begin:place]}\0{sql[place:end]}".removesuffix(")")
    while (bare := _INNERMOST.sub("[]", marked)) != marked:
        marked = bare
    (own,) = (part for part in marked.split("UNION ALL") if "\0" in part)
    return own.replace("\0", "")


def _is_insert(sql: str, match: re.Match[str]) -> bool:
    return sql[: match.start()].rstrip().upper().endswith("INTO")


def _words(listed: str | None) -> set[str]:
    return set(re.findall(r"\w+", listed or ""))


def _has_predicates(reference: Reference) -> bool:
    name = rf"\b{reference.alias}\."
    name = rf"(?:{name}|(?<![\w.]))" if reference.alone else name
    tenant = re.search(rf"{name}tenant_id = ", reference.own)
    return bool(tenant and re.search(rf"{name}fleet_id (?:= |IN )", reference.own))


def _is_joined(reference: Reference, bound: list[Reference]) -> bool:
    ids = {id for each in bound for id in (*_ids_of(each), *_equals(each))}
    return not ids.isdisjoint(_equals(reference))


def _ids_of(reference: Reference) -> list[str]:
    return [f"{reference.alias}.{name}" for name in ("id", "node_id", "source_id", "target_id")]


def _equals(reference: Reference) -> set[str]:
    """What the reference's id must be equal to."""
    name = rf"\b{reference.alias}\.(?:id|node_id)"
    found = re.findall(rf"{name} = (\w+\.\w+)|(\w+\.\w+) = {name}\b", reference.own)
    return {one or other for one, other in found}
