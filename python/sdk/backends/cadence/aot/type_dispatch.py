# SPDX-License-Identifier: BSD-3-Clause
"""`CompileTimeTypeDispatchPass`: replaces operators for all dtypes by operators for one dtype, so that a program links
only the kernels that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.backends.cadence.aot.utils import is_depthwise_conv
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass

_cadence = exir_ops.edge.cadence
_INT8, _UINT8 = (torch.int8,), (torch.uint8,)


@dataclass(frozen=True)
class OpConfig:
    """The variants of an operator by dtype.

    Args:
        base_name: Its name without a dtype.
        type_dispatch_suffixes: The suffix of the name, by the dtypes of the operands.
        weight_arg_idx: The position of the second operand.
        is_quant_op: Whether the dtype of the result decides instead.
        variant: The overload.
    """

    base_name: str
    type_dispatch_suffixes: dict[tuple[torch.dtype, ...], str]
    weight_arg_idx: int | None = None
    is_quant_op: bool = False
    variant: str = "per_tensor"


def _pairs(first: str, second: str) -> dict[tuple[torch.dtype, ...], str]:
    return {_INT8 * 2: f"{first}s", _UINT8 * 2: f"{second}u"}


_ASYMMETRIC = _pairs("asym8sxasym8s_asym8", "asym8uxasym8u_asym8")
_SYMMETRIC = _pairs("asym8sxsym8s_asym8", "asym8uxsym8u_asym8")
_EDGES: dict[tuple[torch.dtype, ...], str] = {
    _INT8: "asym8s",
    _UINT8: "asym8u",
    (torch.int16,): "asym16s",
    (torch.uint16,): "asym16u",
    (torch.int32,): "asym32s",
}
_CONVOLUTIONS = {_cadence.quantized_conv2d_nchw.per_tensor: 1, _cadence.quantized_conv2d_nhwc.per_tensor: -1}
"""The dimension of the channels of each operator."""
_OPTIONAL = {
    _cadence.quantized_fully_connected.per_tensor,
    _cadence.quantized_linear.per_tensor,
    _cadence.quantized_matmul.default,
    *_CONVOLUTIONS,
}
"""Operators that also have int16 operands, for which only the variant for all dtypes exists."""


@register_cadence_pass(CadencePassAttribute(opt_level=4))
class CompileTimeTypeDispatchPass(ExportPass):
    """Replaces operators by their variants for one dtype. Raises RuntimeError for dtypes without a variant, except for
    int16 operands of the operators in `_OPTIONAL`, which stay."""

    _SUPPORTED_OPS: ClassVar[dict[Any, OpConfig]] = {
        _cadence.quantized_fully_connected.per_tensor: OpConfig("quantized_fully_connected", _ASYMMETRIC, 1),
        _cadence.quantized_linear.per_tensor: OpConfig("quantized_linear", _ASYMMETRIC, 1),
        _cadence.quantized_matmul.default: OpConfig("quantized_matmul", _ASYMMETRIC, 2, variant="default"),
        _cadence.quantized_conv2d_nchw.per_tensor: OpConfig("quantized_conv2d_nchw", _SYMMETRIC, 1),
        _cadence.quantized_conv2d_nhwc.per_tensor: OpConfig("quantized_conv2d_nhwc", _SYMMETRIC, 1),
        _cadence.quantized_relu.per_tensor: OpConfig(
            "quantized_relu", {_INT8: "asym8s_asym8s", _UINT8: "asym8u_asym8u"}
        ),
        _cadence.quantized_add.per_tensor: OpConfig("quantized_add", _ASYMMETRIC, 3),
        exir_ops.edge.aten._softmax.default: OpConfig("_softmax", {(torch.float32,): "f32_f32"}, variant="default"),
        _cadence.quantize_per_tensor.default: OpConfig(
            "quantize_per_tensor", _EDGES, is_quant_op=True, variant="default"
        ),
        _cadence.dequantize_per_tensor.default: OpConfig("dequantize_per_tensor", _EDGES, variant="default"),
    }

    def call(self, graph_module: GraphModule) -> PassResult:
        """Changes the targets of calls and nothing else."""
        changed = False
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    config = self._SUPPORTED_OPS.get(node.target) if node.op == "call_function" else None
                    changed |= config is not None and self._dispatch(node, config)
                module.recompile()
        return PassResult(graph_module, changed)

    def _dispatch(self, node: Node, config: OpConfig) -> bool:
        dtypes = self._dtypes(node, config)
        suffix = config.type_dispatch_suffixes.get(dtypes)
        if suffix is None:
            if node.target in _OPTIONAL and torch.int16 in dtypes:
                return False
            known = sorted({str(key) for key in config.type_dispatch_suffixes})
            raise RuntimeError(f"Unsupported input types for {node.target}: {dtypes}. Expected one of {known}")
        name = f"{config.base_name}{self._form(node)}_{suffix}"
        node.target = getattr(getattr(_cadence, name), config.variant)
        if "offset" not in {argument.name for argument in node.target._schema.arguments}:
            node.kwargs = {key: value for key, value in node.kwargs.items() if key != "offset"}
        return True

    @staticmethod
    def _dtypes(node: Node, config: OpConfig) -> tuple[torch.dtype, ...]:
        if config.is_quant_op:
            return (get_arg(node, "dtype", torch.dtype),)
        indices = (0,) if config.weight_arg_idx is None else (0, config.weight_arg_idx)
        return tuple(node.args[index].meta["val"].dtype for index in indices)

    @staticmethod
    def _form(node: Node) -> str:
        if node.target not in _CONVOLUTIONS:
            return ""
        source = node.args[0]
        assert isinstance(source, Node)
        if is_depthwise_conv(get_arg(node, "groups", int), source.meta["val"].shape[_CONVOLUTIONS[node.target]]):
            return "_depthwise"
        return "_dilated" if any(each > 1 for each in get_arg(node, "dilation")) else ""
