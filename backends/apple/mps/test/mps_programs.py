# SPDX-License-Identifier: BSD-3-Clause
"""Programs of single calls, made in the same way by this package and by the original, which passes its own operators of
the edge dialect. Imports only PyTorch."""

from __future__ import annotations

import operator as builtin
from typing import Any

import torch
from mps_cases import Call, operator
from torch.fx import Node
from torch.utils import _pytree as pytree


class _Copies(torch.nn.Module):
    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        return [tensor.clone() for tensor in tensors]


def tensors_of(call: Call) -> list[torch.Tensor]:
    """Returns the tensors of a call, which are the inputs of its program, or an unused tensor if the call has no
    tensors."""
    found = [leaf for leaf in pytree.tree_leaves((call.args, call.kwargs)) if isinstance(leaf, torch.Tensor)]
    return found or [torch.zeros(2)]


def expected_of(call: Call, use_fp16: bool = False) -> list[torch.Tensor]:
    """Returns PyTorch's results, limited to float16's range if float16 is used. Leaves out statistics of
    normalisations."""
    results = operator(call.target)(*call.args, **call.kwargs)
    found = [results] if isinstance(results, torch.Tensor) else list(results)
    if use_fp16:
        limit = torch.finfo(torch.float16).max
        found = [x if not x.is_floating_point() else torch.where(x.isinf(), x, x.clamp(-limit, limit)) for x in found]
    return found[:1] if "norm" in call.target else found


def edge_program(call: Call, edge_operators: Any) -> Any:
    """Returns a program with only this call. The operator is not decomposed."""
    tensors = tensors_of(call)
    program = torch.export.export(_Copies(), tuple(tensors))
    graph = program.graph_module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node in reversed([node for node in graph.nodes if node.op == "call_function"]):
        node.replace_all_uses_with(placeholders[0])
        graph.erase_node(node)
    remaining = iter(placeholders)

    def as_node(leaf: Any) -> Any:
        return next(remaining) if isinstance(leaf, torch.Tensor) else leaf

    args, kwargs = pytree.tree_map(as_node, (call.args, call.kwargs))
    namespace, name, overload = call.target.split(".")
    target = getattr(getattr(getattr(edge_operators, namespace), name), overload)
    output = graph.output_node()
    with graph.inserting_before(output):
        node = graph.call_function(target, args, kwargs)
        fake_args, fake_kwargs = pytree.tree_map(lambda n: n.meta["val"] if isinstance(n, Node) else n, (args, kwargs))
        with placeholders[0].meta["val"].fake_mode:
            node.meta["val"] = operator(call.target)(*fake_args, **fake_kwargs)
        results = [node]
        if not isinstance(node.meta["val"], torch.Tensor):
            results = []
            for i, value in enumerate(node.meta["val"]):
                results.append(graph.call_function(builtin.getitem, (node, i)))
                results[-1].meta["val"] = value
            if "norm" in call.target:
                for unread in results[1:]:
                    graph.erase_node(unread)
                results = results[:1]
    output.args = (tuple(results),)
    program.graph_module.recompile()
    signature = program.graph_signature
    spec = signature.output_specs[0]
    signature.output_specs[:] = [type(spec)(spec.kind, type(spec.arg)(result.name), None) for result in results]
    return program
