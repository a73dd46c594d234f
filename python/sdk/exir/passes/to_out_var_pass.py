# SPDX-License-Identifier: BSD-3-Clause
"""Converts operators to their out variants, with one `memory.alloc` node for each tensor that they produce."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir import memory
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.operator.convert import NoOutVariantError, is_inplace_variant, to_out_variant
from sdk.exir.passes.spec_prop_pass import make_spec
from sdk.exir.tensor import TensorSpec

_NO_MEMORY = frozenset(
    {
        torch.ops.aten.sym_size.int,
        torch.ops.aten.sym_numel.default,
        torch.ops.aten.sym_stride.int,
        torch.ops.aten._local_scalar_dense.default,
        torch.ops.aten.copy_.default,
        torch.ops.aten._assert_async.msg,
    }
)
"""Operators that return numbers or nothing, or write in place."""


class ToOutVarPass(PassBase):
    """Changes the graph in place, whether or not `SpecPropPass` ran before. One error names all operators without an
    out variant; with `ignore_to_out_var_failure`, their calls stay as they are."""

    def __init__(self, ignore_to_out_var_failure: bool = False) -> None:
        self.ignore_to_out_var_failure = ignore_to_out_var_failure

    def call(self, graph_module: GraphModule) -> PassResult:
        missing: dict[str, str] = {}
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                self._convert(module.graph, missing)
                module.recompile()
        if missing and not self.ignore_to_out_var_failure:
            places = "\n".join(f"  {name}: {place}" for name, place in sorted(missing.items()))
            raise RuntimeError(
                f"Missing out variants: {set(missing)}\n{places}\n"
                "The runtime gives operators memory through out arguments. Register an out variant for each "
                "(torch.library), decompose it, or delegate it to a backend."
            )
        return PassResult(graph_module, True)

    def _convert(self, graph: Graph, missing: dict[str, str]) -> None:
        for node in list(graph.nodes):
            if node.op != "call_function" or not isinstance(node.target, (EdgeOpOverload, torch._ops.OpOverload)):
                continue
            op = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
            if op in _NO_MEMORY or op.namespace == "executorch_prim" or _writes_in_place(op):
                node.target = op
                continue
            try:
                out_op, out_names = to_out_variant(op)
            except NoOutVariantError:
                missing.setdefault(op.name(), _place(node))
                continue
            if not all(name in node.kwargs for name in out_names):
                _use_out_variant(graph, node, out_op, out_names)


def _writes_in_place(op: torch._ops.OpOverload) -> bool:
    return is_inplace_variant(op._schema.name, op._overloadname)


def _use_out_variant(graph: Graph, node: Node, out_op: torch._ops.OpOverload, out_names: tuple[str, ...]) -> None:
    _fill_results_without_a_value(node)
    val = node.meta.get("val")
    spec = node.meta["spec"] if "spec" in node.meta else make_spec(val)
    accepted = {a.name for a in out_op._schema.arguments}
    kwargs = {k: v for k, v in node.kwargs.items() if k in accepted}
    returns_list = isinstance(spec, (list, tuple)) and len(out_names) == 1
    specs = [spec] if len(out_names) == 1 else list(spec)
    vals = [val] if len(out_names) == 1 else list(val)
    with graph.inserting_before(node):
        for name, out_spec, out_val in zip(out_names, specs, vals, strict=True):
            alloc = graph.call_function(memory.alloc, (_alloc_argument(out_spec),))
            alloc.meta = {"val": out_val, "spec": out_spec}
            kwargs[name] = alloc
    node.target = out_op
    node.kwargs = kwargs
    if returns_list:
        # The out variant of an operator that returns a list returns nothing: its users read the list that it filled.
        for user in list(node.users):
            if user.target is operator.getitem:
                user.replace_input_with(node, kwargs[out_names[0]])


def _fill_results_without_a_value(node: Node) -> None:
    """A result that the arguments turn off, such as a gradient of `convolution_backward` that its mask leaves out, is
    None. The out variant has an argument for it: a tensor without elements."""
    val = node.meta.get("val")
    if not isinstance(val, (list, tuple)) or all(value is not None for value in val):
        return
    tensors = [value for value in val if isinstance(value, torch.Tensor)]
    if not tensors:
        return
    with torch.no_grad():
        empty = tensors[0].new_empty(0)
    specs = node.meta["spec"]
    node.meta["val"] = tuple(empty if value is None else value for value in val)
    node.meta["spec"] = tuple(TensorSpec.from_tensor(empty) if spec is None else spec for spec in specs)


def _alloc_argument(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return (tuple(spec.shape), spec.dtype)
    return [_alloc_argument(s) for s in spec]


def _place(node: Node) -> str:
    trace = node.meta.get("stack_trace")
    return (
        trace.strip().splitlines()[-2].strip()
        if trace and len(trace.strip().splitlines()) >= 2
        else f"node {node.name}"
    )
