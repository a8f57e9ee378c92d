"""How calls, conversions and JSON are written for SQLite, and what types can be seen."""

from __future__ import annotations

from collections.abc import Callable

from tests.tsql.schema import Schema
from tests.tsql.tree import Node, Script, column_path, kind

Render = Callable[[Node], str]

_JSON_VALUE = (
    "CASE WHEN type = 'null' THEN NULL WHEN type IN ('true', 'false') THEN type "
    "ELSE CAST(value AS TEXT) END COLLATE PADDED AS [value]"
)
"""A value that OPENJSON gives as a text, of whatever type it is in JSON."""

_SAME = frozenset(
    {
        "abs", "char", "choose", "concat", "count", "datalength", "db_id", "dense_rank", "len",
        "lower", "max", "min", "min_active_rowversion", "object_id", "rank", "replace", "round",
        "row_number", "session_context", "sum", "sysutcdatetime", "upper",
    }
)  # fmt: skip
_RENAMED = {"count_big": "count", "isnull": "ifnull", "substring": "substr"}
_PARTED = frozenset({"dateadd", "datediff_big"})
_BITS = {"BigInt": 64, "Int": 32, "SmallInt": 16, "Bit": 2}
_TEXTS = frozenset({"NVarChar", "VarChar", "NChar", "Char"})
_NARROW = frozenset({"VarChar", "Char"})
_INSTANTS = frozenset({"sysutcdatetime", "dateadd"})


class Calls:
    """The calls of one script; `render` writes what stands in them."""

    def __init__(self, script: Script, schema: Schema, render: Render) -> None:
        self._render = render
        self._variables = _variables(script)
        self.ways: dict[str, Render] = {
            "CastCall": self._cast,
            "ConvertCall": self._convert,
            "FunctionCall": self._call,
            "LeftFunctionCall": self._left,
        }
        self._types: dict[str, Render] = {
            "CastCall": lambda node: str(node.DataType.SqlDataTypeOption),
            "CoalesceExpression": self._common,
            "ColumnReferenceExpression": lambda node: schema.types.get(
                (column_path(node) or [""])[-1], ""
            ),
            "ConvertCall": lambda node: str(node.DataType.SqlDataTypeOption),
            "FunctionCall": self._type_of_call,
            "ParenthesisExpression": lambda node: self._type(node.Expression),
            "StringLiteral": lambda node: "NVarChar" if node.IsNational else "VarChar",
            "VariableReference": lambda node: self._variables.get(str(node.Name).lower(), ""),
        }

    def is_instant(self, node: Node) -> bool:
        """Whether an expression is a DATETIME2 for all that can be seen."""
        return self._type(node) == "DateTime2"

    def is_text(self, node: Node) -> bool:
        """Whether it is a text."""
        return self._type(node) in _TEXTS

    def like(self, node: Node) -> str:
        """A LIKE, which SQLite has for ASCII without case."""
        escape = "NULL" if node.EscapeExpression is None else self._render(node.EscapeExpression)
        text, pattern = self._render(node.FirstExpression), self._render(node.SecondExpression)
        word = "NOT " if node.NotDefined else ""
        return f"{word}tsql_like({text}, {pattern}, {escape})"

    def json_table(self, node: Node) -> str:
        """OPENJSON, with or without a schema for its rows."""
        if node.RowPattern is not None:
            raise NotImplementedError("OPENJSON with a path of its rows")
        items = list(node.SchemaDeclarationItems)
        columns = [_json_column(item) for item in items] or ["[key]", _JSON_VALUE]
        alias = "" if node.Alias is None else f" AS [{node.Alias.Value}]"
        rows = f"json_each({self._render(node.Variable)})"
        return f"(SELECT {', '.join(columns)} FROM {rows}){alias}"

    def _cast(self, node: Node) -> str:
        wanted, value = str(node.DataType.SqlDataTypeOption), self._render(node.Parameter)
        if wanted in _BITS:
            return f"to_integer({value}, {_BITS[wanted]})"
        if wanted in _TEXTS:
            most = _size(node.DataType)
            return f"to_text({value}{'' if most is None else f', {most}'})"
        if wanted == "DateTime2":
            return f"as_instant({value})"
        if wanted == "Float":
            return f"CAST({value} AS REAL)"
        if wanted == "Binary":
            return f"to_binary({value}, {_size(node.DataType)})"
        raise NotImplementedError(f"CAST AS {wanted}")

    def _convert(self, node: Node) -> str:
        if node.Style is None:
            return self._cast(node)
        style, wanted = self._render(node.Style), str(node.DataType.SqlDataTypeOption)
        if style == "2" and wanted in _TEXTS:
            return f"hex_of({self._render(node.Parameter)})"
        raise NotImplementedError(f"CONVERT to {wanted} in style {style}")

    def _call(self, node: Node) -> str:
        name = str(node.FunctionName.Value).lower()
        if node.CallTarget is not None or str(node.UniqueRowFilter) == "All":
            raise NotImplementedError(f"a call of {name}")
        arguments = [self._render(argument) for argument in node.Parameters]
        if name in _PARTED:
            arguments[0] = f"'{arguments[0].lower()}'"
        elif name == "hashbytes":
            narrow = self._type(list(node.Parameters)[1]) in _NARROW
            arguments.insert(1, "'ascii'" if narrow else "'utf-16-le'")
        elif name == "string_agg":
            arguments.append(self._order(node))
        elif name not in _SAME and name not in _RENAMED:
            raise NotImplementedError(f"the function {name}")
        over = "" if node.OverClause is None else f" {self._render(node.OverClause)}"
        distinct = "DISTINCT " if str(node.UniqueRowFilter) == "Distinct" else ""
        return f"{_RENAMED.get(name, name)}({distinct}{', '.join(arguments)}){over}"

    def _left(self, node: Node) -> str:
        text, count = (self._render(argument) for argument in node.Parameters)
        return f"left_of({text}, {count}) COLLATE PADDED"

    def _order(self, node: Node) -> str:
        """What STRING_AGG sorts by; without MAX the server refuses long results."""
        value = next(iter(node.Parameters))
        if kind(value) != "CastCall" or _size(value.DataType) is not None:
            raise NotImplementedError("STRING_AGG of anything but CAST(… AS VARCHAR(MAX))")
        (order,) = node.WithinGroupClause.OrderByClause.OrderByElements
        if str(order.SortOrder) == "Descending":
            raise NotImplementedError("STRING_AGG in descending order")
        return self._render(order.Expression)

    def _type(self, node: Node) -> str:
        """The type of an expression, empty where it can't be seen."""
        way = self._types.get(kind(node))
        return "" if way is None else way(node)

    def _type_of_call(self, node: Node) -> str:
        name = str(node.FunctionName.Value).lower()
        if name in {"max", "min"}:
            return self._type(next(iter(node.Parameters)))
        return "DateTime2" if name in _INSTANTS else ""

    def _common(self, node: Node) -> str:
        types = {self._type(each) for each in node.Expressions}
        return types.pop() if len(types) == 1 else ""


def _variables(script: Script) -> dict[str, str]:
    """The types of the variables that a script declares, by name."""
    declared = script.all("DeclareVariableElement", "ProcedureParameter")
    return {
        str(each.VariableName.Value).lower(): str(each.DataType.SqlDataTypeOption)
        for each in declared
    }


def _size(data_type: Node) -> int | None:
    """The length of a type, None for MAX."""
    given = [str(parameter.Value) for parameter in data_type.Parameters]
    if not given:
        raise NotImplementedError("a type without its length")
    return None if given[0].upper() == "MAX" else int(given[0])


def _json_column(item: Node) -> str:
    column = item.ColumnDefinition
    name, wanted = column.ColumnIdentifier.Value, str(column.DataType.SqlDataTypeOption)
    path = "$" if item.Mapping is None else str(item.Mapping.Value)
    if item.Mapping is None or item.AsJson:
        raise NotImplementedError("OPENJSON with a column without a path, or AS JSON")
    value = "value" if path == "$" else f"json_extract(value, '{path}')"
    if wanted in _BITS:
        return f"to_integer({value}, {_BITS[wanted]}) AS [{name}]"
    if wanted == "DateTime2":
        return f"as_instant({value}) AS [{name}]"
    if wanted == "NVarChar":
        most = _size(column.DataType) or 2**30
        return f"json_text({value}, {most}) COLLATE PADDED AS [{name}]"
    raise NotImplementedError(f"OPENJSON with a {wanted}")
