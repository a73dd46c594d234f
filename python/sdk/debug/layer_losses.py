# SPDX-License-Identifier: BSD-3-Clause
"""The accuracy loss of each layer of a quantised model, and the gain from keeping the layer in float.

A layer is an operator that reads dequantised values: its activations and its weights. A layer in float reads the values
before quantisation. SQNR(Q) is the ratio of the float model's outputs to the error of the model in which the layers Q
are quantised. With L, the set of all layers,

    alone  = SQNR({layer})               the loss that the layer causes by itself
    gain   = SQNR(L - {layer}) - SQNR(L) the gain from keeping the layer in float, in dB
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from sdk.debug.departures import is_dequantize, is_quantize
from sdk.devtools.inspector._distance import snr
from sdk.devtools.inspector._numeric_gap import copies

Weights = Mapping[tuple[Node, Node], torch.Tensor]
"""The float weight that a layer reads, by the layer and the node that dequantises the weight."""


@dataclass(frozen=True)
class LayerLoss:
    """The accuracy loss of a layer in dB; see the formulas of this module."""

    node: Node
    alone: float
    gain: float


@dataclass(frozen=True)
class Losses:
    """The SQNR of the quantised model, its layers by decreasing gain, and a note if weights could not be taken from the
    float model."""

    sqnr: float
    layers: list[LayerLoss]
    note: str | None


def is_quantized(module: GraphModule) -> bool:
    """Whether a graph has layers that read dequantised values."""
    return bool(layers_of(module))


def layers_of(module: GraphModule) -> list[Node]:
    """Returns the nodes that read dequantised values, in order, including the graph's output node if it reads one."""
    return [
        node
        for node in module.graph.nodes
        if node.op in ("call_function", "output")
        and not is_quantize(node)
        and not is_dequantize(node)
        and any(is_dequantize(source) and not _is_choice(node) for source in node.all_input_nodes)
    ]


def layer_losses(module: GraphModule, inputs: Sequence[Any], float_model: torch.nn.Module | None) -> Losses:
    """Ranks the layers of a quantised graph by the gain from keeping each in float.

    Args:
        module: What `ExportedProgram.module()` returns.
        inputs: The flat inputs, in the order of the graph. They are not changed.
        float_model: The model before it was quantised, for its weights. Without it, weights stay quantised, and only
            the loss of the activations is measured.
    """
    found = layers_of(module)
    weights, note = _float_weights(module, found, inputs, float_model)

    def outputs(floats: Collection[Node]) -> list[Any]:
        with torch.no_grad():
            result = _Partly(module, frozenset(floats), weights).run(*copies(inputs), enable_io_processing=False)
        return [value for value in pytree.tree_leaves(result) if isinstance(value, torch.Tensor)]

    reference = outputs(found)
    everything = snr(reference, outputs(()))
    losses = [
        LayerLoss(
            node,
            alone=snr(reference, outputs([other for other in found if other is not node])),
            gain=_gain(everything, snr(reference, outputs([node]))),
        )
        for node in found
    ]
    return Losses(everything, sorted(losses, key=lambda loss: -loss.gain), note)


def _gain(before: float, after: float) -> float:
    return 0.0 if before == after else after - before


def _is_choice(node: Node) -> bool:
    """Whether a node computes scales, and not a result."""
    return str(getattr(node.target, "__name__", "")).startswith("choose_qparams")


class _Partly(Interpreter):
    """Runs a quantised graph with some of its layers in float."""

    def __init__(self, module: GraphModule, floats: frozenset[Node], weights: Weights) -> None:
        super().__init__(module, garbage_collect_values=False)  # layers read values that were computed long before
        self._floats = floats
        self._weights = weights

    def fetch_args_kwargs_from_env(self, n: Node) -> Any:
        if n not in self._floats:
            return super().fetch_args_kwargs_from_env(n)
        return torch.fx.map_arg((n.args, n.kwargs), lambda source: self._unquantized(n, source))

    def _unquantized(self, layer: Node, source: Node) -> Any:
        if not is_dequantize(source):
            return self.env[source]
        quantized = source.args[0]
        if isinstance(quantized, Node) and is_quantize(quantized):
            return self.env[quantized.args[0]]
        return self._weights.get((layer, source), self.env[source])


def _float_weights(
    module: GraphModule, layers: Sequence[Node], inputs: Sequence[Any], model: torch.nn.Module | None
) -> tuple[Weights, str | None]:
    """The weights of the float model, and why some stay quantised. The n-th call of an operator in one model is the
    n-th in the other."""
    constants = {
        (layer, source): None
        for layer in layers
        for source in layer.all_input_nodes
        if is_dequantize(source) and not (isinstance(source.args[0], Node) and is_quantize(source.args[0]))
    }
    if not constants:
        return {}, None
    if model is None:
        return {}, "weights stay quantised without the float model: the losses are those of the activations"
    operators = _operators(_folded(model, *_call(module, inputs)))
    places = _operators(module)
    found: dict[tuple[Node, Node], torch.Tensor] = {}
    for layer, source in constants:
        same, ours = operators.get(layer.target, []), places.get(layer.target, [])
        if len(same) != len(ours):
            continue
        twin, owner = same[ours.index(layer)]
        operand = twin.args[layer.args.index(source)] if source in layer.args else None
        weight = owner.get(_stored(operand))
        value = _constant(module, source)
        # A layer of the float model with another shape, or with unrelated values, is not the same layer.
        if weight is not None and value is not None and weight.shape == value.shape and snr(weight, value) > 0:
            found[layer, source] = weight
    missing = len(constants) - len(found)
    return (
        found,
        f"{missing} of {len(constants)} weights stay quantised: the float model has no matching ones"
        if missing
        else None,
    )


def _stored(operand: Any) -> Any:
    """Returns the constant that an operand copies. Graphs copy tensors that are in the model's code."""
    while isinstance(operand, Node) and operand.op == "call_function":
        if getattr(operand.target, "__name__", "").split(".")[0] not in (
            "lift_fresh_copy",
            "detach",
            "detach_",
            "clone",
        ):
            return None
        operand = operand.args[0]
    return operand


def _operators(graph: GraphModule | tuple[GraphModule, dict[Node, torch.Tensor]]) -> dict[Any, list[Any]]:
    """Returns the calls of each operator, in order. If the graph is given with its constants, each call comes with
    them."""
    module, constants = graph if isinstance(graph, tuple) else (graph, None)
    found: dict[Any, list[Any]] = defaultdict(list)
    for node in module.graph.nodes:
        if node.op == "call_function":
            found[node.target].append(node if constants is None else (node, constants))
    return found


def _call(module: GraphModule, inputs: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the named inputs, nested as the exported model takes them."""
    info = getattr(module.graph._codegen, "pytree_info", None)
    if info is None or info.in_spec is None:
        return tuple(inputs), {}
    args, kwargs = pytree.tree_unflatten(list(inputs), info.in_spec)
    return args, kwargs


def _folded(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[GraphModule, dict[Node, torch.Tensor]]:
    """The float model as a graph in which batch norms are fused into convolutions, as quantisation does, and its
    constants."""
    from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e
    from torchao.quantization.pt2e.quantizer import Quantizer

    class Nothing(Quantizer):
        def annotate(self, model: GraphModule) -> GraphModule:
            return model

        def validate(self, model: GraphModule) -> None:
            pass

    exported = torch.export.export(model, args, kwargs, strict=False)
    module = prepare_pt2e(exported.module(), Nothing())
    constants = {node: _attribute(module, str(node.target)) for node in module.graph.nodes if node.op == "get_attr"}
    return module, {node: value for node, value in constants.items() if isinstance(value, torch.Tensor)}


def _constant(module: GraphModule, dequantize: Node) -> torch.Tensor | None:
    """The dequantised values of a constant."""
    operands = torch.fx.map_arg(
        (dequantize.args, dequantize.kwargs),
        lambda node: _attribute(module, str(node.target)) if node.op == "get_attr" else None,
    )
    try:
        value = dequantize.target(*operands[0], **operands[1])
    except Exception:  # an operand is not constant
        return None
    return value if isinstance(value, torch.Tensor) else None


def _attribute(module: torch.nn.Module, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
    return found
