# SPDX-License-Identifier: BSD-3-Clause
"""Replaces LSTMs, GRUs and plain recurrent layers, each a single node of a captured graph, by their time steps, as the
exporter does. A cell is handled as a layer on a sequence of length one.

Only their linear layers are quantised, and dynamically even with a static configuration. Gates and states stay floats,
because errors of the state would accumulate over the steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DispatchKey
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

_aten = torch.ops.aten

RECURRENT = (_aten.lstm.input, _aten.gru.input, _aten.rnn_tanh.input, _aten.rnn_relu.input)
CELLS = {
    _aten.lstm_cell.default: _aten.lstm.input,
    _aten.gru_cell.default: _aten.gru.input,
    _aten.rnn_tanh_cell.default: _aten.rnn_tanh.input,
    _aten.rnn_relu_cell.default: _aten.rnn_relu.input,
}
UNROLLED = "unrolled_from"
"""The key in Node.meta of a node that is part of a time step."""


def unroll(model: GraphModule) -> None:
    """Replaces recurrent layers by their time steps, except layers with dynamic sizes."""
    found = [node for node in model.graph.nodes if node.target in (*RECURRENT, *CELLS) and _is_static(node)]
    for node in found:
        _replace(model, node)
    if found:
        model.recompile()


def reads_inputs(node: Node) -> bool:
    """Whether a node depends on an input of the model. In the first step of a layer whose initial state is zeros, some
    matrix multiplications have only constant operands."""
    seen, pending = {node}, [node]
    while pending:
        for operand in pending.pop().all_input_nodes:
            if operand.op == "placeholder":
                return True
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return False


def _is_static(node: Node) -> bool:
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    return all(
        isinstance(value, torch.Tensor) and all(isinstance(size, int) for size in value.shape) for value in values
    )


def _replace(model: GraphModule, node: Node) -> None:
    operands = node.all_input_nodes

    def run(*tensors: torch.Tensor) -> Any:
        args = map_arg(node.args, dict(zip(operands, tensors, strict=True)).__getitem__)
        return _run_cell(node.target, *args, **node.kwargs) if node.target in CELLS else _run_layer(node.target, *args)

    values = [operand.meta["val"] for operand in operands]
    # With mkldnn, the layer would become a single operator that exists only in PyTorch.
    with torch.backends.mkldnn.flags(enabled=False), torch.no_grad():
        steps = make_fx(run, pre_dispatch=True)(*values)
    copies: dict[Node, Node] = dict(zip(steps.graph.find_nodes(op="placeholder"), operands, strict=True))
    with model.graph.inserting_before(node):
        results = model.graph.graph_copy(steps.graph, copies)
    origin = {key: node.meta[key] for key in ("nn_module_stack", "stack_trace", "from_node") if key in node.meta}
    for original, copy in copies.items():
        if original.op != "placeholder":
            copy.meta.update(origin, **{UNROLLED: node.name})
    if isinstance(results, Node):
        node.replace_all_uses_with(results)
    for user in list(node.users):
        user.replace_all_uses_with(pytree.tree_leaves(results)[user.args[1]])
        model.graph.erase_node(user)
    model.graph.erase_node(node)


def _run_layer(layer: Any, *args: Any) -> Any:
    """Traces a layer through PyTorch's decomposition."""
    return layer.py_kernels[DispatchKey.CompositeImplicitAutograd](*args)


def _run_cell(cell: Any, x: torch.Tensor, states: Any, *weights: torch.Tensor | None, **biases: torch.Tensor) -> Any:
    several = isinstance(states, (list, tuple))
    given = [weight for weight in (*weights, *biases.values()) if weight is not None]
    hidden = [state.unsqueeze(0) for state in states] if several else states.unsqueeze(0)
    # has_biases, num_layers, dropout, train, bidirectional, batch_first
    how = (len(given) == 4, 1, 0.0, False, False, False)
    _, *after = _run_layer(CELLS[cell], x.unsqueeze(0), hidden, given, *how)
    return [state.squeeze(0) for state in after] if several else after[0].squeeze(0)
