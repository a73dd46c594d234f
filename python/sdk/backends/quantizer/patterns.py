# SPDX-License-Identifier: BSD-3-Clause
"""Finds parts of a captured graph that become one quantised operator, and annotates them for torchao's PT2E.

An annotation says how the inputs and the result of a part are quantised. The nodes inside a part are not annotated.
Operators that only move or select elements (`SHARING`) keep the scale of their input.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationConfig,
    SharedQuantizationSpec,
    get_bias_qspec,
    get_input_act_qspec,
    get_output_act_qspec,
)

from sdk.backends.quantizer.configuration import activations
from sdk.backends.quantizer.modules import Filter
from sdk.backends.quantizer.recurrent import UNROLLED, reads_inputs

_aten = torch.ops.aten

ANNOTATION = "quantization_annotation"  # the key in Node.meta

CONVOLUTIONS = (_aten.conv1d.default, _aten.conv2d.default, _aten.convolution.default)
TRANSPOSED = (_aten.conv_transpose1d.default, _aten.conv_transpose2d.input)
LINEAR = (_aten.linear.default,)
ADDITIONS = (_aten.add.Tensor, _aten.add_.Tensor)
PRODUCTS = (_aten.mul.Tensor, _aten.mul_.Tensor)
POOLS = (_aten.adaptive_avg_pool2d.default,)
JOINTS = (_aten.cat.default,)
NORMS = (_aten.batch_norm.default, _aten._native_batch_norm_legit.default)
ACTIVATIONS = (
    _aten.relu.default,
    _aten.relu_.default,
    _aten.relu6.default,
    _aten.relu6_.default,
    _aten.hardtanh.default,
    _aten.hardtanh_.default,
)
"""Fused into the operator before them as the limits of its results."""

SHARING = frozenset(
    (
        _aten.adaptive_avg_pool2d.default,
        _aten.avg_pool2d.default,
        _aten.flatten.using_ints,
        _aten.hardtanh.default,
        _aten.hardtanh_.default,
        _aten.max_pool2d.default,
        _aten.mean.default,
        _aten.mean.dim,
        _aten.permute.default,
        _aten.reshape.default,
        _aten.select.int,
        _aten.slice.Tensor,
        _aten.squeeze.dim,
        _aten.squeeze.dims,
        _aten.transpose.int,
        _aten.unsqueeze.default,
        _aten.upsample_bilinear2d.vec,
        _aten.view.default,
    )
)

_PER_CHANNEL = (torch.per_channel_symmetric, torch.per_channel_affine)

WHEN_IT_RUNS = activations(-128, 127, is_dynamic=True, eps=2**-12)

_LARGEST_COUNTED = 3.4028235e15
"""ExecuTorch's limit. The scale of larger numbers would turn everything else into zeros."""


def annotate_part(node: Node, config: QuantizationConfig, accepts: Filter) -> bool:
    """Annotates the part that begins with `node` if `accepts` returns true for it. Returns False if no part begins
    there, or if a node of it is already annotated."""
    if UNROLLED in node.meta:
        return node.target in LINEAR and reads_inputs(node) and annotate_weighted(node, _dynamic(config), accepts)
    if node.target in (*CONVOLUTIONS, *TRANSPOSED, *LINEAR):
        return annotate_weighted(node, config, accepts)
    if config.input_activation is None or config.input_activation.is_dynamic:
        return False
    if node.target in (*ADDITIONS, *PRODUCTS):
        return annotate_binary(node, config, accepts)
    if node.target in POOLS:
        source = node.args[0]
        return _annotate([node], {source: get_input_act_qspec(config)}, _shared(source, node), accepts)
    return node.target in JOINTS and _annotate_joint(node, config, accepts)


def propagate(model: GraphModule, operators: Collection[Any] = SHARING) -> None:
    """Gives the results of operators that only move or average elements the scale of their input."""
    for node in model.graph.nodes:
        if node.target in operators and not is_annotated(node):
            share_scale(node)


def share_scale(node: Node) -> bool:
    """Gives the result of a node the scale of its first operand. Returns False if the operand has no scale."""
    source = node.args[0]
    before = source.meta.get(ANNOTATION) if isinstance(source, Node) else None
    if before is None or before.output_qspec is None:
        return False
    node.meta[ANNOTATION] = QuantizationAnnotation(
        input_qspec_map={source: SharedQuantizationSpec(source)},
        output_qspec=SharedQuantizationSpec((source, node)),
        _annotated=True,
    )
    return True


def is_annotated(node: Node) -> bool:
    annotation = node.meta.get(ANNOTATION)
    return annotation is not None and annotation._annotated


def turn_numbers_into_tensors(model: GraphModule) -> None:
    """Replaces numbers among the operands of sums, differences and products by tensors, so that observers can be
    attached."""
    for node in list(model.graph.nodes):
        if node.target not in (*ADDITIONS, *PRODUCTS, _aten.sub.Tensor):
            continue
        for position, number in enumerate(node.args[:2]):
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                continue
            name = _free_name(model)
            value = node.meta["val"]
            tensor = torch.tensor(float(number), dtype=value.dtype, device=value.device)
            model.register_buffer(name, tensor)
            with model.graph.inserting_before(node):
                constant = model.graph.get_attr(name)
            constant.meta["val"] = value.fake_mode.from_tensor(tensor) if hasattr(value, "fake_mode") else tensor
            node.update_arg(position, constant)
    model.recompile()


def annotate_weighted(
    node: Node, config: QuantizationConfig, accepts: Filter, activations: Collection[Any] = ACTIVATIONS
) -> bool:
    """Annotates a convolution or a linear layer with the activation function after it. Returns False as
    `annotate_part` does."""
    source, weight, bias = (*node.args, None, None)[:3]
    if not isinstance(source, Node) or not isinstance(weight, Node) or not _is_float(source):
        return False
    specs: dict[Any, Any] = {source: get_input_act_qspec(config), weight: _weight_spec(node, config)}
    if isinstance(bias, Node):
        specs[bias] = get_bias_qspec(config)
    part = [node]
    if config.is_qat and node.target not in LINEAR:
        part += _only_reader(part[-1], NORMS)
    quantised = config.input_activation is not None
    dynamic = quantised and config.input_activation.is_dynamic
    if dynamic and node.target not in LINEAR and _groups(node) != 1:
        return False  # activations of grouped convolutions are never quantised dynamically
    if quantised and not dynamic:
        part += _only_reader(part[-1], activations)
    return _annotate(part, specs, get_output_act_qspec(config), accepts)


def _dynamic(config: QuantizationConfig) -> QuantizationConfig:
    """The configuration with dynamically quantised activations instead."""
    return dataclasses.replace(config, input_activation=WHEN_IT_RUNS, output_activation=None)


def _groups(node: Node) -> Any:
    arguments = node.target._schema.arguments
    position = next(i for i, argument in enumerate(arguments) if argument.name == "groups")
    return node.args[position] if position < len(node.args) else node.kwargs.get("groups", 1)


def _weight_spec(node: Node, config: QuantizationConfig) -> Any:
    spec = config.weight
    if spec is None or spec.qscheme not in _PER_CHANNEL or node.target not in TRANSPOSED:
        return spec
    return dataclasses.replace(spec, ch_axis=1)  # [inputs, outputs of a group, height, width]


def annotate_binary(
    node: Node, config: QuantizationConfig, accepts: Filter, activations: Collection[Any] = ACTIVATIONS
) -> bool:
    """Annotates an operator of two tensors with the activation function after it. Returns False as `annotate_part`
    does."""
    operands = node.args[:2]
    if not all(isinstance(operand, Node) and _is_float(operand) for operand in operands):
        return False
    if any(_is_beyond_histograms(operand) for operand in operands):
        return False
    spec = get_input_act_qspec(config)
    part = [node, *_only_reader(node, activations)]
    return _annotate(part, dict.fromkeys(operands, spec), get_output_act_qspec(config), accepts)


def _annotate_joint(node: Node, config: QuantizationConfig, accepts: Filter) -> bool:
    operands = list(node.args[0]) if isinstance(node.args[0], (list, tuple)) else []
    if not operands or not all(isinstance(operand, Node) and _is_float(operand) for operand in operands):
        return False
    first = operands[0]
    specs: dict[Any, Any] = {operand: _shared(first, node) for operand in operands}
    specs[first] = get_input_act_qspec(config)
    return _annotate([node], specs, _shared(first, node), accepts)


def _annotate(part: list[Node], specs: dict[Any, Any], output: Any, accepts: Filter) -> bool:
    """Annotates a part. `specs` has the inputs of its nodes, `output` is for the result of the last node."""
    # `accepts` decides by the first node: an activation function belongs to the part, also if it is in another module.
    if not accepts(part[0]) or any(map(is_annotated, part)):
        return False
    for node in part:
        node.meta[ANNOTATION] = QuantizationAnnotation(_annotated=True)
    part[0].meta[ANNOTATION].input_qspec_map = specs
    part[-1].meta[ANNOTATION].output_qspec = output
    return True


def _shared(source: Any, node: Node) -> SharedQuantizationSpec:
    return SharedQuantizationSpec((source, node))


def _only_reader(node: Node, targets: Iterable[Any]) -> list[Node]:
    """Returns a list with the user of `node` if it is the only one and in `targets`, else an empty list. Batch norms in
    training mode return several results, of which only the first one counts."""
    readers = list(node.users)
    return readers if len(readers) == 1 and readers[0].target in tuple(targets) else []


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _is_beyond_histograms(node: Node) -> bool:
    """Whether a node is a constant with values that are too large for observers, such as a mask of -inf."""
    if node.op != "get_attr":
        return False
    owner, _, name = str(node.target).rpartition(".")
    assert node.graph.owning_module is not None
    tensor = getattr(node.graph.owning_module.get_submodule(owner), name)
    return bool((tensor.abs() > _LARGEST_COUNTED).any())


def _free_name(model: GraphModule) -> str:
    number = 0
    while hasattr(model, f"_number_{number}"):
        number += 1
    return f"_number_{number}"
