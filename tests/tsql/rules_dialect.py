"""Rules on words: what the grammar takes for a name, but the server would not know."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tsql.catalogue import Catalogue
from tests.tsql.tree import Finding, Script, column_path

# Known to SQL Server 2019. A function that is missing here is another engine's, or newer, until
# somebody looked it up; CAST, CONVERT, COALESCE, NULLIF and IIF are no functions to the parser.
FUNCTIONS = frozenset(
    {
        "abs", "avg", "ceiling", "char", "charindex", "checksum", "choose", "concat",
        "concat_ws", "count", "count_big", "datalength", "dateadd", "datediff", "datediff_big",
        "datepart", "db_id", "dense_rank", "error_message", "error_number", "exp",
        "first_value", "floor", "format", "hashbytes", "isjson", "isnull", "json_modify",
        "json_query", "json_value", "lag", "last_value", "lead", "len", "log", "lower", "ltrim",
        "max", "min", "min_active_rowversion", "newid", "object_id", "original_db_name",
        "patindex", "power", "rank", "replace", "replicate", "reverse", "round", "row_number",
        "rtrim", "session_context", "sign", "sqrt", "stdev", "string_agg", "string_escape",
        "stuff", "substring", "sum", "switchoffset", "sysutcdatetime", "todatetimeoffset",
        "translate", "trim", "unicode", "upper", "xact_state",
    }
)  # fmt: skip
_FOREIGN_COLUMNS = frozenset({"xmin", "xmax", "ctid", "oid", "rowid", "true", "false", "excluded"})


def functions(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """Only functions that SQL Server 2019 has."""
    for node in script.all("FunctionCall"):
        name = str(node.FunctionName.Value).lower()
        if node.CallTarget is None and name not in FUNCTIONS:
            yield script.finding("foreign function", node, f"{name}() is not known here")


def names(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """No system column or literal of another engine."""
    for node in script.all("ColumnReferenceExpression"):
        path = column_path(node)
        if path and path[-1] in _FOREIGN_COLUMNS:
            yield script.finding("foreign name", node, f"{path[-1]} is another engine's")


def cursors(script: Script, catalogue: Catalogue) -> Iterator[Finding]:
    """FOR UPDATE belongs to cursors here and locks nothing: a table hint does."""
    for node in script.all("UpdateForClause", "ReadOnlyForClause"):
        yield script.finding("foreign lock", node, "write a table hint: WITH (UPDLOCK, …)")
