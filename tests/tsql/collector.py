"""A visitor of ScriptDom that keeps the fragments it meets, made in .NET itself.

A visitor written in Python is called back for each fragment, which takes a hundred times as long.
So the class is put together from instructions, as a compiler would:

    public class Collector : TSqlFragmentVisitor {
        public List<TSqlFragment> Found = new List<TSqlFragment>();
        public override void Visit(TSqlFragment node) { Found.Add(node); }
    }
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from tests.tsql.runtime import scriptdom


def fragments(tree: Any) -> Iterator[Any]:
    """The fragments of a tree, outermost first."""
    collector = import_module("System").Activator.CreateInstance(_collector())
    tree.Accept(collector)
    return iter(_collector().GetField("Found").GetValue(collector))


@cache
def _collector() -> Any:
    parser, clr = scriptdom(), import_module("clr")
    system, reflection = import_module("System"), import_module("System.Reflection")
    emit = import_module("System.Reflection.Emit")
    visitor, fragment = map(clr.GetClrType, (parser.TSqlFragmentVisitor, parser.TSqlFragment))
    found = clr.GetClrType(import_module("System.Collections.Generic").List[parser.TSqlFragment])
    assembly = emit.AssemblyBuilder.DefineDynamicAssembly(
        reflection.AssemblyName("Retrograph.Tests"), emit.AssemblyBuilderAccess.Run
    )
    made = assembly.DefineDynamicModule("Collectors").DefineType(
        "Collector", reflection.TypeAttributes.Public, visitor
    )
    field = made.DefineField("Found", found, reflection.FieldAttributes.Public)
    _begin(made, field, visitor, system, reflection, emit.OpCodes)
    _visit(made, field, visitor, fragment, reflection.MethodAttributes, emit.OpCodes)
    return made.CreateType()


def _begin(made: Any, field: Any, base: Any, system: Any, reflection: Any, codes: Any) -> None:
    """The constructor: the base's, then an empty list."""
    none, kinds = system.Type.EmptyTypes, reflection.BindingFlags
    public, standard = reflection.MethodAttributes.Public, reflection.CallingConventions.Standard
    hidden = kinds.Instance | kinds.Public | kinds.NonPublic
    code = made.DefineConstructor(public, standard, none).GetILGenerator()
    code.Emit(codes.Ldarg_0)
    code.Emit(codes.Call, base.GetConstructor(hidden, None, none, None))
    code.Emit(codes.Ldarg_0)
    code.Emit(codes.Newobj, field.FieldType.GetConstructor(none))
    code.Emit(codes.Stfld, field)
    code.Emit(codes.Ret)


def _visit(made: Any, field: Any, base: Any, fragment: Any, attributes: Any, codes: Any) -> None:
    """The method that is called for every fragment: adds it to the list."""
    takes = import_module("System").Array[import_module("System").Type]([fragment])
    method = made.DefineMethod("Visit", attributes.Public | attributes.Virtual, None, takes)
    code = method.GetILGenerator()
    code.Emit(codes.Ldarg_0)
    code.Emit(codes.Ldfld, field)
    code.Emit(codes.Ldarg_1)
    code.Emit(codes.Callvirt, field.FieldType.GetMethod("Add"))
    code.Emit(codes.Ret)
    made.DefineMethodOverride(method, base.GetMethod("Visit", takes))
