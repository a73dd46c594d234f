# SPDX-License-Identifier: BSD-3-Clause
"""`DecomposeScaledDotProductAttention`: decomposes attention into the operators that compute it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.pass_base import ExportPass

_SDPA = torch.ops.aten.scaled_dot_product_attention.default
_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


class DecomposeScaledDotProductAttention(ExportPass):
    """Replaces each `aten.scaled_dot_product_attention` by the operators that PyTorch computes it with: matrix
    multiplications and a softmax. The new nodes keep the attention's location in the model.

    Args:
        allow_non_fake_inputs: Whether the graph may contain tensors with data in addition to fake tensors.
    """

    def __init__(self, allow_non_fake_inputs: bool = True) -> None:
        super().__init__()
        self._allow_non_fake_inputs = allow_non_fake_inputs

    def call(self, graph_module: GraphModule, allow_non_fake_inputs: bool = True) -> PassResult:
        modified = False
        for node in list(graph_module.graph.nodes):
            if node.op == "call_function" and node.target == _SDPA:
                self._decompose(node, self._allow_non_fake_inputs and allow_non_fake_inputs)
                modified = True
        if modified:
            graph_module.graph.eliminate_dead_code()
            graph_module.recompile()
        return PassResult(graph_module, modified)

    @staticmethod
    def _decompose(node: Node, allow_non_fake_inputs: bool) -> None:
        given = dict(zip(_NAMES, node.args, strict=False)) | dict(node.kwargs)
        _check_heads(node, given)
        tensors = {name: value for name, value in given.items() if isinstance(value, Node)}
        rest = {name: value for name, value in given.items() if name not in tensors}

        def attention(*values: torch.Tensor) -> torch.Tensor:
            arguments: dict[str, Any] = {**rest, **dict(zip(tensors, values, strict=True))}
            mask = arguments.get("attn_mask")
            if mask is not None and mask.dtype is torch.bool:  # Boolean masks become 0 and -inf, to be added
                arguments["attn_mask"] = torch.where(mask, 0.0, -torch.inf).to(arguments["query"].dtype)
            positional = [arguments.pop(name) for name in _NAMES[:3]]
            return torch.ops.aten._scaled_dot_product_attention_math.default(*positional, **arguments)[0]

        inline(node, attention, list(tensors.values()), allow_non_fake_inputs)


def inline(
    node: Node, function: Callable[..., torch.Tensor], operands: Sequence[Node], allow_non_fake_inputs: bool = True
) -> None:
    """Replaces a call by the operators that a function of its operands calls, with the same location in the model."""
    traced = make_fx(function, _allow_non_fake_inputs=allow_non_fake_inputs)(*(each.meta["val"] for each in operands))
    inputs = iter(operands)
    copies: dict[Node, Node] = {}
    for step in traced.graph.nodes:
        if step.op == "placeholder":
            copies[step] = next(inputs)
        elif step.op == "output":
            node.replace_all_uses_with(copies[step.args[0]])
            node.graph.erase_node(node)
        else:
            copies[step] = _copy(step, node, traced, copies)


def _copy(step: Node, node: Node, traced: GraphModule, copies: dict[Node, Node]) -> Node:
    """A node of the decomposition before the call `node`."""
    if step.op == "get_attr":  # a constant of the decomposition
        owner, name = node.graph.owning_module, f"_part{step.target}"
        while hasattr(owner, name):
            name += "_"
        assert owner is not None
        owner.register_buffer(name, getattr(traced, str(step.target)), persistent=False)
        with node.graph.inserting_before(node):
            return node.graph.get_attr(name)
    with node.graph.inserting_before(node):
        copy = node.graph.node_copy(step, copies.__getitem__)
    copy.meta = {**node.meta, "val": step.meta.get("val")}
    return copy


def _check_heads(node: Node, given: dict[str, Any]) -> None:
    query, key, value = (given[name].meta["val"] for name in _NAMES[:3])
    if query.dim() > 2 and not given.get("enable_gqa", False):
        heads = [tensor.shape[-3] for tensor in (query, key, value)]
        if heads[0] != heads[1] or heads[0] != heads[2]:
            raise ValueError(f"{node.name} has {heads} heads in query, key and value: that needs enable_gqa=True")
