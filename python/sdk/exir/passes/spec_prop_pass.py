# SPDX-License-Identifier: BSD-3-Clause
"""Gives every node a `TensorSpec` (`node.meta["spec"]`), the description that memory planning and emission work on."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult
from torch.utils import _pytree as pytree

from sdk.exir import memory
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.operator.convert import is_inplace_variant
from sdk.exir.pass_base import ExportPass
from sdk.exir.tensor import TensorSpec


def make_spec(x: Any) -> Any:
    """The spec of a node's value `x`: a `TensorSpec` for a tensor, the same structure for lists, any other value
    unchanged."""
    if isinstance(x, torch.Tensor):
        with torch.no_grad():
            return TensorSpec.from_tensor(x)
    if isinstance(x, (tuple, list)):
        return type(x)(map(make_spec, x)) if type(x) in (tuple, list) else tuple(map(make_spec, x))
    return x


class SpecPropPass(ExportPass):
    """Derives specs from the fake tensors in `node.meta["val"]`. Nodes that pass on a tensor share the spec of its
    producer."""

    def __init__(self) -> None:
        super().__init__()

    def __call__(self, graph_module: GraphModule) -> PassResult:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module: GraphModule) -> PassResult:
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    node.meta["spec"] = _spec_of(node)
        return PassResult(graph_module, True)

    def update_placeholder_tensor_specs(self, exported_program: ExportedProgram, graph_module: GraphModule) -> None:
        """Marks the specs of weights, and of buffers that the program does not change, as constant."""
        signature = exported_program.graph_signature
        mutated = {
            *signature.buffers_to_mutate.values(),
            *getattr(signature, "parameters_to_mutate", {}).values(),
        }
        kinds = {s.arg.name: s for s in signature.input_specs if hasattr(s.arg, "name")}
        for node in graph_module.graph.nodes:
            if node.op != "placeholder":
                continue
            spec = kinds.get(node.name)
            if spec is None or spec.kind == InputKind.USER_INPUT or not isinstance(node.meta.get("spec"), TensorSpec):
                continue
            node.meta["spec"].const = spec.target not in mutated


def _spec_of(node: Node) -> Any:
    if node.op == "output":
        return pytree.tree_map(lambda a: a.meta.get("spec") if isinstance(a, Node) else a, node.args[0])
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        specs: Any | None = node.args[0].meta.get("spec")
        if isinstance(specs, (tuple, list)):
            return specs[node.args[1]]
    op = node.target._op if isinstance(node.target, EdgeOpOverload) else node.target
    if isinstance(op, torch._ops.OpOverload) and is_inplace_variant(op._schema.name, op._overloadname):
        return node.args[0].meta["spec"]
    if node.target is memory.view and isinstance(node.meta.get("spec"), TensorSpec):
        return node.meta["spec"]
    spec = make_spec(node.meta.get("val"))
    if node.op == "get_attr" and isinstance(spec, TensorSpec):
        spec.const = True
    return spec
