# SPDX-License-Identifier: BSD-3-Clause
"""Makes the rows of a method from its emitted program and from the programs inside its delegates."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree
from torch.utils._sympy.value_ranges import bound_sympy

from sdk.devtools.report._model import PORTABLE, RUNTIME, SHARED, Row, Value
from sdk.devtools.source_lines import source_line
from sdk.exir import memory
from sdk.exir.backend.utils import get_refusals
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.graph_module import get_control_flow_submodules
from sdk.exir.memory_planning._in_place import is_written_already
from sdk.exir.memory_planning._parts import are_parts
from sdk.exir.sym_util import upper_bound
from sdk.exir.tensor import TensorSpec

_LARGEST_SIZE = 2**31 - 1


def rows_of_method(method: str, program: ExportedProgram) -> list[Row]:
    """Every node of the method in the order of its instructions. The nodes of a branch follow the node that runs it."""
    return list(_MethodRows(method, program).graph(program.graph_module, ""))


class _MethodRows:
    def __init__(self, method: str, program: ExportedProgram) -> None:
        self._method = method
        self._program = program
        self._inputs = {s.arg.name: s for s in program.graph_signature.input_specs if hasattr(s.arg, "name")}
        self._counted: set[tuple[int, int]] = set()

    def graph(self, module: GraphModule, prefix: str) -> Iterator[Row]:
        branches: dict[Node, list[tuple[str, GraphModule]]] = {}
        for name, branch, node in get_control_flow_submodules(module):
            branches.setdefault(node, []).append((name, branch))
        for node in module.graph.nodes:
            if node.op == "placeholder" and not prefix:
                yield self._placeholder(node)
            elif node.op == "call_function" and node.target is executorch_call_delegate:
                yield from self._delegate(module, node, prefix)
            elif node.op == "call_function" and node.target not in (operator.getitem, memory.alloc, memory.free):
                if node.target is torch.ops.aten.copy_.default and is_written_already(node):
                    continue  # no instruction: the value is computed in the buffer's memory
                yield self._call(node, prefix)
                for name, branch in branches.get(node, ()):
                    yield from self.graph(branch, f"{prefix}{name}/")

    def _placeholder(self, node: Node) -> Row:
        spec = self._inputs.get(node.name)
        kind = "input" if spec is None or spec.kind == InputKind.USER_INPUT else "weight"
        if spec is not None and spec.kind == InputKind.BUFFER and not _is_constant(node):
            kind = "buffer"
        values = values_of(node)
        tag = node.meta.get("constant_tag")
        if tag is not None:
            where = f"file {tag}"
        elif any(value.memory_id is not None for value in values):
            where = "arena"
        elif kind == "input":
            where = "caller"
        else:
            where = "program" if node.users else "nowhere: it is not used"
        name = str(spec.target) if spec is not None and spec.target else node.name
        return Row(self._method, name, kind, where, values)

    def _call(self, node: Node, prefix: str) -> Row:
        target = node.target
        if target is memory.view:
            name, where = "view", SHARED
        elif isinstance(target, torch._ops.OpOverload):
            name = operator_name(target)
            # Parts of another tensor need no instruction, so no kernel runs.
            where = SHARED if are_parts(node) else RUNTIME if is_runtime_operator(name) else PORTABLE
        else:
            name, where = getattr(target, "__name__", str(target)), RUNTIME
        refusals = get_refusals(node) if where == PORTABLE else {}
        return self._row(node, prefix, name, where, values_of(node), refusals)

    def _delegate(self, module: GraphModule, node: Node, prefix: str) -> Iterator[Row]:
        lowered: Any = operator.attrgetter(str(node.args[0].target))(module)
        yield self._row(node, prefix, "delegate", lowered.backend_id, values_of(node))
        yield from self._inside(
            lowered.original_module.graph_module, lowered.backend_id, f"{prefix}{node.args[0].target}/"
        )

    def _inside(self, module: GraphModule, backend: str, prefix: str) -> Iterator[Row]:
        for node in module.graph.nodes:
            if node.op == "call_function" and node.target is not operator.getitem:
                op = getattr(node.target, "_op", node.target)
                name = operator_name(op) if isinstance(op, torch._ops.OpOverload) else getattr(op, "__name__", str(op))
                yield self._row(node, prefix, name, backend, values_of(node))
        for name, branch, _ in get_control_flow_submodules(module):
            yield from self._inside(branch, backend, f"{prefix}{name}/")

    def _row(
        self,
        node: Node,
        prefix: str,
        name: str,
        where: str,
        values: tuple[Value, ...],
        refusals: dict[str, str] | None = None,
    ) -> Row:
        return Row(
            self._method, prefix + node.name, name, where, values, refusals or {}, _module_of(node), _source_of(node)
        )


def values_of(node: Node) -> tuple[Value, ...]:
    """The tensors and numbers that a node computes, without None."""
    values = pytree.tree_leaves(node.meta.get("val"))
    specs = pytree.tree_leaves(node.meta.get("spec"), is_leaf=lambda s: isinstance(s, TensorSpec))
    if len(specs) != len(values):
        specs = [None] * len(values)
    found = (_value(value, spec) for value, spec in zip(values, specs, strict=True))
    return tuple(value for value in found if value is not None)


def _value(value: Any, spec: Any) -> Value | None:
    if not isinstance(value, torch.Tensor):
        kinds = ((torch.SymBool, "bool"), (torch.SymInt, "int"), (torch.SymFloat, "float"))
        name = next((name for kind, name in kinds if isinstance(value, kind)), type(value).__name__)
        return None if value is None else Value(name, None, 0, 0)
    shape = tuple(size_range(size) for size in value.shape)
    dtype = str(value.dtype).removeprefix("torch.")
    if not isinstance(spec, TensorSpec):
        return Value(dtype, shape, _largest_bytes(value), 0)
    nbytes = spec.nbytes() if all(isinstance(size, int) for size in spec.shape) else _largest_bytes(value)
    if spec.const or spec.mem_id is None or spec.mem_offset is None:
        return Value(dtype, shape, nbytes, 0)
    place = (spec.mem_id, spec.mem_offset)
    shares = spec.inplace_base is not None or hasattr(spec, "_base")
    return Value(dtype, shape, nbytes, 0 if shares else spec.allocated_memory, *place)


def operator_name(target: torch._ops.OpOverload) -> str:
    """The operator's name in the program: `aten::add.out`, `aten::relu`."""
    schema = target._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def is_runtime_operator(name: str) -> bool:
    """Whether the core of the runtime has the operator, whatever kernels are linked."""
    return name.startswith("executorch_prim::") or name in (
        "aten::_local_scalar_dense",
        "aten::sym_numel",
        "aten::sym_size.int",
    )


def size_range(size: Any) -> str:
    """`3`, or `1..16` for a dynamic size."""
    if isinstance(size, int):
        return str(size)
    node = size.node
    expr = node.shape_env.replace(node.expr)
    if expr.is_Integer:
        return str(expr)
    ranges = node.shape_env.var_to_range
    lower = bound_sympy(expr, {s: ranges[s] for s in expr.free_symbols if s in ranges}).lower
    upper = upper_bound(size)
    try:
        low = max(int(lower), 0)
    except (OverflowError, TypeError, ValueError):  # without a lower bound
        low = 0
    return f"{low}..{'' if upper is None or upper >= _LARGEST_SIZE else upper}"


def _largest_bytes(value: torch.Tensor) -> int:
    count = 1
    for size in value.shape:
        bound = upper_bound(size)
        if bound is None:
            return 0
        count *= bound
    return count * value.element_size()


def _is_constant(node: Node) -> bool:
    spec = node.meta.get("spec")
    return isinstance(spec, TensorSpec) and spec.const


def _module_of(node: Node) -> str:
    """The path of the innermost module around the node."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [path for path, _ in stack.values()]
    return str(paths[-1]).removeprefix("L['self'].") if paths else ""


def _source_of(node: Node) -> str:
    return source_line(node.meta.get("stack_trace") or "")
