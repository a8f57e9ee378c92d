"""Rules on the ways to a table: what would lead past the other rules, and locks that hide rows."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tsql.catalogue import Catalogue
from tests.tsql.tree import Finding, Node, Script, kind, name_of

_OF_STATEMENTS = frozenset({"inserted", "deleted"})
_OTHER_SCHEMAS = frozenset({"sys"})
GRAPH = frozenset({"Edges", "Evidence", "Fleets", "NodeContents", "NodeIdentities", "Nodes"})
"""Tables in which a row that is passed over would be taken for one that is not there."""
CLAIM = frozenset({"ReadCommittedLock", "ReadPast", "Rowlock", "UpdLock"})
"""The hints of a claim: under row versions READPAST is refused without READCOMMITTEDLOCK."""
_DIRTY = frozenset({"NoLock", "ReadUncommitted"})


def dynamic(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """No text that is put together on the server: the gate can't read it."""
    for node in script.all("ExecutableStringList"):
        yield script.finding("dynamic text", node, "write the statement itself")
    for node in script.all("ProcedureReference"):
        if name_of(node.Name)[1].lower() == "sp_executesql":
            yield script.finding("dynamic text", node, "write the statement itself")


def table_names(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Tables are called by their schema, or no rule would know them; and they exist."""
    local = _OF_STATEMENTS | _names_inside(script)
    for node in script.all("NamedTableReference"):
        schema, name = name_of(node.SchemaObject)
        if schema == "memory":
            if name not in catalogue.tables:
                yield script.finding("table name", node, f"there is no table Memory.{name}")
        elif schema:
            if schema not in _OTHER_SCHEMAS:
                yield script.finding("table name", node, f"{schema} is no schema of ours")
        elif not name.startswith("#") and name.lower() not in local:
            yield script.finding("table name", node, f"write Memory.{name}")


def locks(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Only a claim of work passes locked rows over, and nobody reads what may vanish."""
    for node in script.all("NamedTableReference"):
        hints = {str(hint.HintKind) for hint in node.TableHints}
        name = name_of(node.SchemaObject)[1]
        if hints & _DIRTY:
            yield script.finding("lock", node, f"{name} is read before it is committed")
        if "ReadPast" in hints and not hints >= CLAIM:
            yield script.finding("lock", node, f"a claim needs {', '.join(sorted(CLAIM))}")
        if "ReadPast" in hints and name in GRAPH:
            yield script.finding("lock", node, f"a locked row of {name} would seem not to be there")
    for node in script.all("SetTransactionIsolationLevelStatement"):
        if str(node.Level) in _DIRTY:
            yield script.finding("lock", node, "what is not committed is read by nobody")


def _names_inside(script: Script) -> set[str]:
    """What a text itself calls a table: common tables, and the aliases of its UPDATEs."""
    common = [node.ExpressionName for node in script.all("CommonTableExpression")]
    return {str(name.Value).lower() for name in [*common, *_aliases(script)]}


def _aliases(script: Script) -> Iterator[Node]:
    for node in script.all("UpdateSpecification", "DeleteSpecification"):
        if node.FromClause is not None and kind(node.Target) == "NamedTableReference":
            yield from (t.Alias for t in script.all("NamedTableReference") if t.Alias is not None)
