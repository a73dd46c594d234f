# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the edge dialect that coremltools converts, and which of their calls Core ML gets."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from sdk.backends.apple.coreml.compiler.trial import Trials
from sdk.backends.graph.names import name_of
from sdk.backends.graph.normalization import beyond_own_statistics
from sdk.backends.operators import Operators

Check = Callable[[Node], str | None]

_MOST_RANK = 5
_DTYPES = (
    torch.float32, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


@dataclass(frozen=True)
class CoreMLOperator:
    """An operator.

    Attributes:
        check: Why a call must not be converted; None for calls that coremltools may convert.
        reads_any: Whether operands may have dtypes that Core ML lacks, because coremltools folds them into constants.
    """

    check: Check | None = None
    reads_any: bool = False

    def refusal(self, node: Node, trials: Trials, targets: Sequence[Any]) -> str | None:
        """Returns why Core ML does not get a call, or None if it does."""
        reason = None if self.check is None else self.check(node)
        operands = [] if self.reads_any else node.all_input_nodes
        for value in (*pytree.tree_leaves([each.meta.get("val") for each in operands]), *_results(node)):
            reason = reason or _tensor_refusal(value)
        if reason is None:
            target, error = trials.first(node, targets)
            reason = None if target is not None else f"coremltools does not convert it: {error}"
        return reason

    def lower(self, node: Node, trials: Trials, targets: Sequence[Any]) -> Any:
        """Converts a call alone, to find the first of the deployment targets for which coremltools converts it. The
        program itself is converted as a whole.

        Raises:
            RuntimeError: coremltools converts the call for none of the targets.
        """
        target, error = trials.first(node, targets)
        if target is None:
            raise RuntimeError(f"{node.name} ({node.target}) cannot be compiled for Core ML: {error}")
        return target


def operator_of(node: Node) -> CoreMLOperator:
    """The operator that a node calls. It may be one that is not listed: users register converters with coremltools."""
    name = name_of(node)
    return OPERATORS.get(name) or _UNLISTED.get(name, _OTHER)


def is_refused_whole(name: str) -> bool:
    """Whether the exporter keeps an operator whole even if Core ML refuses it. Decomposed, dynamic quantisation would
    become float operators that Core ML supports, and the reason for refusing a codebook would not mention codebooks."""
    return name in _DYNAMIC or name == _CODEBOOK


def _results(node: Node) -> list[Any]:
    """The results of a call that are read: batch norms and pools have others, which may be empty or of other dtypes."""
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)) and all(user.target is operator.getitem for user in node.users):
        return [value[index] for index in sorted({user.args[1] for user in node.users})]
    return pytree.tree_leaves(value)


def _tensor_refusal(value: Any) -> str | None:
    if not isinstance(value, torch.Tensor):
        return None
    if value.dtype not in _DTYPES:
        return f"Core ML has no {str(value.dtype).removeprefix('torch.')}"
    if value.dim() > _MOST_RANK:
        return f"Core ML's tensors have rank {_MOST_RANK} at most; this one has {value.dim()}"
    if any(isinstance(size, int) and size == 0 for size in value.shape):
        return "Core ML has no empty tensors"
    return None


def _matmul(node: Node) -> str | None:
    first: Any = node.args[0]
    is_vector = first.meta["val"].dim() == 1
    return "coremltools' program declares another shape for a vector times matrices" if is_vector else None


def _nearest(node: Node) -> str | None:
    """Core ML and PyTorch choose the same nearest pixels only if the new size is a multiple of the old one."""
    source: Any = node.args[0]
    before, after = (list(value.meta["val"].shape[2:]) for value in (source, node))
    for old, new in zip(before, after, strict=True):
        if not (isinstance(old, int) and isinstance(new, int) and new % old == 0):
            return "the size of the result is not known to be a whole multiple of the operand's"
    return None


def _refused(reason: str) -> CoreMLOperator:
    return CoreMLOperator(lambda node: reason)


_NEAREST = "aten.upsample_nearest2d.vec"
_CODEBOOK = "quant.dequantize_codebook.default"
_DYNAMIC = frozenset(
    f"quantized_decomposed.{name}"
    for name in (
        "choose_qparams.tensor", "choose_qparams_symmetric.tensor", "choose_qparams_per_token.default",
        "choose_qparams_per_token_asymmetric.default", "quantize_per_tensor.tensor", "quantize_per_tensor.tensor2",
        "quantize_per_token.default", "dequantize_per_tensor.tensor", "dequantize_per_tensor.tensor2",
        "dequantize_per_token.default",
    )
) | {"torchao.choose_qparams_affine.default", "torchao.quantize_affine.default"}  # fmt: skip

_ANY_CALL = """
    _adaptive_avg_pool2d.default _local_scalar_dense.default _log_softmax.default
    _native_batch_norm_legit.no_stats _native_batch_norm_legit_no_training.default _softmax.default
    _to_copy.default abs.default acos.default acosh.default adaptive_avg_pool1d.default
    adaptive_max_pool2d.default add.Scalar add.Tensor addmm.default alias_copy.default all.dim amax.default
    amin.default any.default any.dim any.dims arange.start_step argmax.default argmin.default asin.default
    asinh.default atan.default atan2.default atanh.default avg_pool1d.default avg_pool2d.default
    avg_pool3d.default bitwise_and.Scalar bitwise_and.Tensor bitwise_not.default bmm.default cat.default
    ceil.default clamp.default clone.default col2im.default constant_pad_nd.default convolution.default
    copy.default cos.default cosh.default cumsum.default div.Scalar div.Tensor div.Tensor_mode elu.default
    embedding.default empty.memory_format eq.Scalar eq.Tensor erf.default exp.default exp2.default
    expand.default expand_copy.default expm1.default fill.Scalar flip.default floor.default floor_divide.default
    full.default full_like.default gather.default ge.Scalar ge.Tensor gelu.default gt.Scalar gt.Tensor
    hardsigmoid.default hardswish.default hardtanh.default index.Tensor index_put.default index_select.default
    isnan.default le.Scalar le.Tensor leaky_relu.default lift_fresh_copy.default
    linalg_vector_norm.default linear.default log.default log10.default log1p.default log2.default
    logical_and.default logical_not.default logical_or.default logical_xor.default lt.Scalar lt.Tensor
    masked_fill.Scalar max.dim max_pool2d.default max_pool2d_with_indices.default
    max_pool3d_with_indices.default maximum.default mean.default mean.dim min.dim minimum.default mish.default
    mm.default mul.Scalar mul.Tensor native_dropout.default native_group_norm.default native_layer_norm.default
    ne.Scalar ne.Tensor neg.default nonzero.default ones.default ones_like.default permute.default
    permute_copy.default pixel_shuffle.default pixel_unshuffle.default pow.Scalar pow.Tensor_Scalar
    pow.Tensor_Tensor prelu.default reciprocal.default reflection_pad1d.default reflection_pad2d.default
    relu.default remainder.Scalar remainder.Tensor repeat.default replication_pad1d.default
    replication_pad2d.default reshape.default roll.default round.default rsqrt.default scalar_tensor.default
    scaled_dot_product_attention.default scatter.src scatter.value scatter_add.default select.int
    select_copy.int select_scatter.default selu.default sigmoid.default sign.default silu.default sin.default
    sinh.default slice.Tensor slice_copy.Tensor slice_scatter.default softplus.default sort.default
    split_with_sizes.default split_with_sizes_copy.default sqrt.default squeeze.dim squeeze.dims
    squeeze_copy.default squeeze_copy.dim squeeze_copy.dims stack.default sub.Scalar sub.Tensor sum.default
    sum.dim_IntList tan.default tanh.default topk.default transpose_copy.int tril.default triu.default
    trunc.default unsqueeze.default unsqueeze_copy.default upsample_bilinear2d.default upsample_bilinear2d.vec
    var.correction var.dim view.default view_copy.default where.self zeros.default zeros_like.default
"""

OPERATORS = Operators[CoreMLOperator]("Core ML")
_OTHER = CoreMLOperator()
OPERATORS.add([f"aten.{name}" for name in _ANY_CALL.split()], _OTHER)
OPERATORS.add(["dim_order_ops._empty_dim_order.default", "dim_order_ops._to_dim_order_copy.default"], _OTHER)
OPERATORS.add(
    [
        f"quantized_decomposed.{name}"
        for name in (
            *("quantize_per_tensor.default", "dequantize_per_tensor.default", "dequantize_per_channel.default"),
            "embedding_4bit.dtype",
        )
    ],
    _OTHER,
)
OPERATORS.add([_NEAREST], CoreMLOperator(_nearest))
OPERATORS.add(["aten.instance_norm.default"], CoreMLOperator(beyond_own_statistics))

_UNLISTED: dict[str, CoreMLOperator] = {
    **dict.fromkeys(
        _DYNAMIC, _refused("Core ML has no dynamic quantisation: quantise activations statically, or weights only")
    ),
    "aten.clamp.Tensor": _refused(
        "where the lower bound is above the upper one, coremltools' program gives the lower one"
    ),
    "aten.diagonal.default": _refused("coremltools' program returns the whole matrix"),
    "aten.diagonal_copy.default": _refused("coremltools' program returns the whole matrix"),
    "aten.logcumsumexp.default": _refused(
        "coremltools' program adds exponentials, which are infinite for large elements"
    ),
    "aten.matmul.default": CoreMLOperator(_matmul),
    **dict.fromkeys(
        ("aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec"),
        _refused("coremltools' program resizes without the filter of antialias=True"),
    ),
    "aten.rms_norm.default": _refused("coremltools' program adds epsilon to a scaled sum"),
    **{
        f"aten.upsample_nearest{rank}d.{overload}": CoreMLOperator(_nearest)
        for rank in (1, 2, 3)
        for overload in ("default", "vec")
    },
    _CODEBOOK: CoreMLOperator(reads_any=True),  # codebooks are float64; they get the dtype of the weights
}
"""Operators that Core ML does not get, or that the exporter decomposes unless they stay whole."""
