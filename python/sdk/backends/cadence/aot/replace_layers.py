# SPDX-License-Identifier: BSD-3-Clause
"""Passes that replace linear layers, matrix multiplications, pools and operators over whole tensors."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.backends.cadence.aot.node_pass import NodePass, dtype_of, insert, is_call, shape
from sdk.backends.cadence.aot.pass_utils import CadencePassAttribute, get_arg, register_cadence_pass
from sdk.exir.dialects._ops import ops as exir_ops

_aten = exir_ops.edge.aten
_cadence = exir_ops.edge.cadence
_decomposed = exir_ops.edge.quantized_decomposed
_FULL = _aten.full.default


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceSafeSoftmaxWithSoftmax(PassBase):
    """Replaces the softmax that gives zeros for rows of -inf by plain softmax. Runs before the lowering to the edge
    dialect. A row in which everything is masked becomes NaN, as in ExecuTorch."""

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for node in graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten._safe_softmax.default):
            with graph_module.graph.inserting_before(node):
                args = (node.args[0], node.args[1], False)
                new = graph_module.graph.call_function(torch.ops.aten._softmax.default, args)
            new.meta = dict(node.meta)
            node.replace_all_uses_with(new)
            graph_module.graph.erase_node(node)
            changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMMWithAddMMPass(NodePass):
    """Replaces a matrix multiplication by addmm with a bias of zeros."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.mm.default,)

    def rewrite(self, node: Node) -> Node | None:
        columns = shape(node)[-1]
        if not isinstance(columns, int):
            return None
        zeros = insert(node, _FULL, [columns], 0.0, dtype=dtype_of(node))
        return insert(node, _aten.addmm.default, zeros, *node.args)


@register_cadence_pass(CadencePassAttribute(opt_level=1))
class ReplaceAddMMWithLinearPass(NodePass):
    """Replaces addmm whose bias is a row or one number by a linear layer with transposed weights."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.addmm.default,)

    def rewrite(self, node: Node) -> Node | None:
        bias, x, weight = node.args[:3]
        if get_arg(node, "alpha") != 1 or get_arg(node, "beta") != 1 or len(shape(bias)) != 1:
            return None
        if shape(bias) != shape(node)[-1:]:
            return None
        if is_call(weight, _aten.transpose_copy.int, _aten.permute_copy.default, _aten.t_copy.default):
            transposed = weight.args[0]
        else:
            transposed = insert(node, _aten.transpose_copy.int, weight, 0, 1)
        return insert(node, _aten.linear.default, x, transposed, bias)


@register_cadence_pass(CadencePassAttribute(opt_level=2))
class ReplaceLinearWithFullyConnectedOpPass(NodePass):
    """Replaces a linear layer over one row by fully_connected."""

    _names: ClassVar[dict[Any, Any]] = {
        _aten.linear.default: _cadence.fully_connected.default,
        _cadence.quantized_linear.default: _cadence.quantized_fully_connected.default,
        _cadence.quantized_linear.per_tensor: _cadence.quantized_fully_connected.per_tensor,
    }
    targets: ClassVar[tuple[Any, ...]] = tuple(_names)

    def rewrite(self, node: Node) -> Node | None:
        sizes = shape(node.args[0])
        if len(sizes) < 2 or any(size != 1 for size in sizes[:-1]):
            return None
        return insert(node, self._names[node.target], *node.args, **node.kwargs)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenAvgPoolWithCadenceAvgPoolPass(NodePass):
    """Replaces PyTorch's avg_pool2d and avg_pool1d by `cadence::avg_pool2d`."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.avg_pool1d.default, _aten.avg_pool2d.default)

    def rewrite(self, node: Node) -> Node | None:
        source, dims = node.args[0], 1 if node.target == _aten.avg_pool1d.default else 2
        if len(shape(source)) != dims + 2 or dtype_of(source) != torch.float32 or not _is_fixed(source):
            return None
        kernel = _wide(get_arg(node, "kernel_size"), dims, 1)
        stride = _wide(get_arg(node, "stride") or get_arg(node, "kernel_size"), dims, 1)
        padding = _wide(get_arg(node, "padding"), dims, 0)
        flags = (get_arg(node, "ceil_mode"), get_arg(node, "count_include_pad"))
        divisor = get_arg(node, "divisor_override") if dims == 2 else None
        image = source if dims == 2 else insert(node, _aten.view_copy.default, source, _with_height(source))
        pool = insert(node, _cadence.avg_pool2d.default, image, kernel, stride, padding, *flags, divisor, None, False)
        return pool if dims == 2 else insert(node, _aten.view_copy.default, pool, shape(node))


def _is_fixed(node: Any) -> bool:
    return all(isinstance(size, int) for size in shape(node))


def _with_height(signal: Any) -> list[Any]:
    """Returns the shape of a signal as an image of height 1."""
    batch, channels, length = shape(signal)
    return [batch, channels, 1, length]


def _wide(numbers: Any, dims: int, first: int) -> list[int]:
    """Returns a number for each of two dimensions."""
    found = [numbers] if isinstance(numbers, int) else list(numbers)
    found = found * dims if len(found) == 1 else found
    return found if dims == 2 else [first, *found]


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAdaptiveAvgPoolWithAtenAvgPoolPass(NodePass):
    """Replaces an adaptive average pool whose windows have equal sizes by an average pool."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._adaptive_avg_pool2d.default,)

    def rewrite(self, node: Node) -> Node | None:
        sizes, results = shape(node.args[0])[-2:], list(get_arg(node, "output_size"))
        if not all(isinstance(size, int) for size in sizes) or any(a % b for a, b in zip(sizes, results, strict=True)):
            return None
        kernel = [size // result for size, result in zip(sizes, results, strict=True)]
        return insert(node, _aten.avg_pool2d.default, node.args[0], kernel, kernel, [0, 0], False, True, None)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceMatmulWithTransposedMatmulPass(NodePass):
    """Transposes the second operand of a quantised matrix multiplication, because kernels read its columns from
    contiguous memory."""

    targets: ClassVar[tuple[Any, ...]] = (
        _cadence.quantized_matmul.default,
        _cadence.quantized_matmul_asym8sxasym8s_asym8s.default,
        _cadence.quantized_matmul_asym8uxasym8u_asym8u.default,
    )

    def rewrite(self, node: Node) -> Node | None:
        if get_arg(node, "transposed"):
            return None
        names = ("X", "X_zero_point", "Y", "Y_zero_point", "bias", "out_multiplier", "out_shift", "out_zero_point")
        args = [get_arg(node, name) for name in names]
        args[2] = insert(node, _aten.transpose_copy.int, args[2], -1, -2)
        return insert(node, node.target, *args, True)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenLinalgSvdWithCadenceLinalgSvdPass(NodePass):
    """Replaces PyTorch's operator by `cadence::linalg_svd`."""

    targets: ClassVar[tuple[Any, ...]] = (_aten._linalg_svd.default,)

    def rewrite(self, node: Node) -> Node | None:
        args = [get_arg(node, name) for name in ("A", "full_matrices", "compute_uv")]
        return insert(node, _cadence.linalg_svd.default, *args) if args[2] else None


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceTorchQuantizedEmbeddingWithCadenceQuantizedEmbedding(NodePass):
    """Replaces PyTorch's operator by `cadence::quantized_embedding_byte`, for float32 results."""

    targets: ClassVar[tuple[Any, ...]] = (
        _decomposed.embedding_byte.default,
        _decomposed.embedding_byte.dtype,
    )

    def rewrite(self, node: Node) -> Node | None:
        if dtype_of(node) != torch.float32:
            return None
        names = ("weight", "weight_scales", "weight_zero_points", "indices")
        args = [get_arg(node, name) for name in names]
        return insert(node, _cadence.quantized_embedding_byte.default, *args, False)


@register_cadence_pass(CadencePassAttribute(opt_level=0))
class ReplaceAtenRmsNormWithCadenceRmsNormPass(NodePass):
    """Replaces PyTorch's operator, which has no kernel, by `cadence::rms_norm`, which computes in float32."""

    targets: ClassVar[tuple[Any, ...]] = (_aten.rms_norm.default,)

    def rewrite(self, node: Node) -> Node | None:
        x, sizes, weight, eps = (get_arg(node, name) for name in ("input", "normalized_shape", "weight", "eps"))
        dtype = dtype_of(node)
        if dtype not in (torch.float16, torch.bfloat16, torch.float32):
            return None
        if weight is None:
            weight = insert(node, _FULL, list(sizes), 1.0, dtype=torch.float32)
        operands = [_converted(node, each, torch.float32) for each in (x, weight)]
        eps = torch.finfo(torch.float32).eps if eps is None else eps
        return _converted(node, insert(node, _cadence.rms_norm.default, operands[0], sizes, operands[1], eps), dtype)


def _converted(before: Node, source: Node, dtype: torch.dtype) -> Node:
    return source if dtype_of(source) == dtype else insert(before, _aten._to_copy.default, source, dtype=dtype)
