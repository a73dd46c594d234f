# SPDX-License-Identifier: BSD-3-Clause
"""Annotations of language models, for `QnnQuantizer.add_custom_quant_annotations`: the matrix multiplications of
attention have 16-bit activations; keys and values, which caches keep, have 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from sdk.backends.qualcomm.quantizer.qconfig import (
    QuantizationConfig,
    get_8a8w_qnn_ptq_config,
    get_8a8w_qnn_qat_config,
    get_16a8w_qnn_ptq_config,
    get_16a8w_qnn_qat_config,
    get_ptq_per_channel_quant_config,
)
from sdk.backends.qualcomm.quantizer.rules import is_float, mark

__all__ = [
    "annotate_kv_8bit",
    "custom_annotate_llama_last_conv_16a8w",
    "custom_annotate_llama_matmul_16a8w",
    "custom_annotate_matmul_16a8w",
]

_aten = torch.ops.aten

_MOVES = frozenset(
    (
        _aten.permute.default, _aten.transpose.int, _aten.view.default, _aten.reshape.default, _aten.expand.default,
        _aten.unsqueeze.default, _aten.squeeze.dim, _aten.squeeze.dims, _aten.flatten.using_ints, _aten.repeat.default,
        _aten.repeat_interleave.self_int, _aten._unsafe_view.default,
    )
)  # fmt: skip
"""Operators that move elements; their result has the scale of the operand."""

_PARTS = frozenset((_aten.select.int, _aten.slice.Tensor, _aten.mul.Tensor, _aten.mul.Scalar, _aten.rms_norm.default))
"""Operators whose result has another range than the operand."""


def annotate_kv_8bit(gm: GraphModule, is_qat: bool = False) -> None:
    """Annotates attention of models with a cache as input. Each matmul of computed tensors has 16-bit activations, and
    the calls that compute its second operand, a key or a value, have 8 bits."""
    if is_qat:
        wide = get_16a8w_qnn_qat_config(act_observer=MinMaxObserver)
        narrow = get_8a8w_qnn_qat_config(act_symmetric=True, act_observer=MinMaxObserver)
    else:
        wide = get_16a8w_qnn_ptq_config(act_observer=MinMaxObserver)
        narrow = get_8a8w_qnn_ptq_config(act_symmetric=True, act_observer=MinMaxObserver)
    for node in _calls(gm, _aten.matmul.default):
        if all(isinstance(each, Node) and each.op == "call_function" for each in node.args[:2]):
            _annotate_product(node, wide)
            _annotate_source(node.args[1], narrow)


def custom_annotate_llama_matmul_16a8w(gm: GraphModule) -> None:
    """Like `annotate_kv_8bit`, for each matmul in submodules whose name contains "SDPA". The cache may be state."""
    wide, narrow = get_16a8w_qnn_ptq_config(), get_8a8w_qnn_ptq_config(act_symmetric=True)
    for node in _calls(gm, _aten.matmul.default):
        if "SDPA" in (_names(node) or [""])[-1]:
            _annotate_product(node, wide)
            _annotate_source(node.args[1], narrow)


def custom_annotate_matmul_16a8w(gm: GraphModule) -> None:
    """Annotates each matmul with 16-bit activations and an 8-bit second operand."""
    wide = get_16a8w_qnn_ptq_config()
    for node in _calls(gm, _aten.matmul.default):
        _annotate_product(node, wide)


def custom_annotate_llama_last_conv_16a8w(gm: GraphModule) -> None:
    """The last layer of a language model, the convolution `output`, has 16-bit activations and 8-bit weights, with a
    scale for each channel."""
    config = get_ptq_per_channel_quant_config(torch.uint16, weight_dtype=torch.int8)
    for node in _calls(gm, _aten.conv2d.default):
        if any(name.rpartition(".")[2] == "output" for name in _names(node)):
            mark(node, {node.args[0]: config.input_activation, node.args[1]: config.weight}, config.output_activation)


def _calls(gm: GraphModule, target: Callable[..., Any]) -> Iterator[Node]:
    return (node for node in gm.graph.nodes if node.op == "call_function" and node.target == target)


def _names(node: Node) -> list[str]:
    """The names of the submodules that contain a call, the outermost first."""
    return [name for name, _ in (node.meta.get("nn_module_stack") or {}).values()]


def _annotate_product(node: Node, config: QuantizationConfig) -> None:
    """Annotates a matmul with the second operand as its weight. If one tensor is both operands, it is a weight."""
    first, second = node.args[:2]
    mark(node, {first: config.input_activation, second: config.weight}, config.output_activation)


def _annotate_source(node: Any, config: QuantizationConfig) -> None:
    """Annotates the calls that make a tensor by moving or joining others, or by scaling them."""
    if not isinstance(node, Node) or node.op != "call_function" or not is_float(node):
        return
    given = config.input_activation
    source: Any = node.args[0]
    if node.target in _MOVES:
        mark(node, {source: given}, SharedQuantizationSpec((source, node)))
        _annotate_source(source, config)
    elif node.target in _PARTS:
        mark(node, dict.fromkeys((each for each in node.args if is_float(each)), given), config.output_activation)
        _annotate_source(source, config)
    elif node.target in (_aten.cat.default, _aten.stack.default):
        shared = SharedQuantizationSpec((source[0], node))
        mark(node, {**dict.fromkeys(source, shared), source[0]: given}, shared)
        for part in source:
            _annotate_source(part, config)
    elif node.target in (_aten.index_put.default, _aten.index_put_.default):
        # The tensor that is written into is state, which has no scale.
        value: Any = node.args[2]
        mark(node, {value: given}, SharedQuantizationSpec((value, node)))
        _annotate_source(value, config)
