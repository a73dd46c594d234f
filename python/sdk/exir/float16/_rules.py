# SPDX-License-Identifier: BSD-3-Clause
"""The operators that lose accuracy in float16, with reasons. Operators that are not listed are computed in float16.

float16 has 11 significant bits, a largest value of 65504 and a smallest normal value of 6.1e-5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch.fx import Node

HALF_LIMITS = torch.finfo(torch.float16)


class Range(Enum):
    """The values that the result of an operator in float32 may have."""

    BOUNDED = "float16 holds the result"
    AS_OPERANDS = "float16 holds the result if it holds the operands"
    WIDE = "the result may exceed float16's range or lose digits that its readers need"


@dataclass(frozen=True)
class Rule:
    """An operator that is computed in float32, for `reason`."""

    reason: str
    range: Range


_EXPONENTIAL = Rule("exponentials and powers exceed the range of float16", Range.WIDE)
_SUM = Rule("a sum of many elements exceeds the range of float16 or loses its small terms", Range.WIDE)
_MEAN = Rule("a mean adds many elements", Range.AS_OPERANDS)
_SOFTMAX = Rule("a softmax adds exponentials", Range.BOUNDED)
_NORM = Rule("a norm adds squares", Range.BOUNDED)
_LOGARITHM = Rule("a logarithm keeps more digits than its operand has in float16", Range.BOUNDED)
_RECIPROCAL = Rule("reciprocals of small numbers exceed the range of float16", Range.WIDE)
_POSITIONS = Rule("float16 does not represent every integer above 2048", Range.WIDE)
_SAMPLING = Rule("positions between elements need more than 11 bits", Range.AS_OPERANDS)
_RANDOM = Rule("random numbers are drawn as the model draws them", Range.AS_OPERANDS)
_MADE_FLOAT = Rule("PyTorch makes float32 of its operands", Range.BOUNDED)
_NO_KERNEL = Rule("PyTorch and the kernels have no float16 version", Range.WIDE)
_LOSS = Rule("a loss adds many small terms", Range.WIDE)

_RULES: dict[Rule, str] = {
    _EXPONENTIAL: "exp exp2 expm1 pow square cosh sinh softplus logsumexp logcumsumexp logaddexp logaddexp2 ldexp",
    _SUM: (
        "sum nansum cumsum cumprod prod var std var_mean std_mean norm linalg_vector_norm linalg_norm "
        "linalg_matrix_norm frobenius_norm nuclear_norm dist trace cosine_similarity index_add scatter_add "
        "scatter_reduce segment_reduce"
    ),
    _MEAN: "mean nanmean",
    _SOFTMAX: "softmax _softmax _safe_softmax log_softmax _log_softmax softmin",
    _NORM: (
        "layer_norm native_layer_norm group_norm native_group_norm instance_norm rms_norm _fused_rms_norm "
        "local_response_norm _native_batch_norm_legit _native_batch_norm_legit_functional native_batch_norm renorm "
        "weight_norm _weight_norm"
    ),
    _LOGARITHM: "log log2 log10 log1p logit log_sigmoid log_sigmoid_forward xlogy lgamma digamma",
    _RECIPROCAL: "rsqrt reciprocal",
    _POSITIONS: "arange linspace logspace range",
    _SAMPLING: (
        "grid_sampler grid_sampler_2d grid_sampler_3d affine_grid_generator upsample_linear1d upsample_bicubic2d "
        "upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa "
        "upsample_nearest_exact1d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d"
    ),
    _RANDOM: (
        "rand randn rand_like randn_like normal normal_functional bernoulli multinomial poisson uniform exponential "
        "geometric dropout native_dropout alpha_dropout feature_dropout rrelu"
    ),
    _NO_KERNEL: (
        "cdist _cdist_forward pdist _pdist_forward avg_pool3d stft istft cholesky geqrf inverse matrix_exp pinverse "
        "polygamma histc bincount searchsorted bucketize polar complex view_as_complex view_as_real triangular_solve "
        "lu_unpack svd qr det logdet slogdet"
    ),
}
_BY_NAME = {name: rule for rule, names in _RULES.items() for name in names.split()}
_NO_KERNEL_PREFIXES = ("fft_", "_fft_", "linalg_", "_linalg_", "special_")


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


WEIGHTED = _named(
    "linear addmm conv1d conv2d conv3d convolution _convolution conv_transpose1d conv_transpose2d conv_transpose3d "
    "bilinear lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell"
)
"""Layers, whose weights are most of a program. They run in float16 whatever the range of their operands."""

PRODUCTS = _named("matmul mm bmm baddbmm addbmm addmv mv dot einsum")
"""Products of two results: one bounded operand suffices for float16."""

BOUNDED_RESULTS = _named("sin cos tanh sigmoid hardsigmoid hardtanh erf atan atan2 asin acos sign nan_to_num")
"""Operators with a result that float16 holds, whatever their operands."""

FACTORIES = _named("zeros ones full eye zeros_like ones_like full_like new_zeros new_ones new_full empty scalar_tensor")
"""Operators with a `dtype` that make a tensor of one number: each reader gets the dtype that it needs."""


CASTS = _named("to _to_copy type_as")


def name_of(node: Node) -> str:
    """`softmax` of a call of `aten.softmax.int`."""
    return str(node.target._schema.name).partition("::")[2]


def is_aten(node: Node) -> bool:
    """Whether a node calls an operator of PyTorch; this module knows only those."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "aten"


def rule_of(node: Node) -> Rule | None:
    """Why the operator of a call is computed in float32; None if it is computed in float16."""
    name = name_of(node)
    if name == "mul" and node.args[0] is node.args[1]:
        return _EXPONENTIAL
    if name == "batch_norm":
        return _NORM if node.args[5] else None  # in training, its statistics are those of the batch
    if "dropout" in name and not node.args[2]:
        return None  # outside of training, it returns its operand
    if name.endswith("_loss"):
        return _LOSS
    return _BY_NAME.get(name) or (_NO_KERNEL if name.startswith(_NO_KERNEL_PREFIXES) else None)


def made_of_integers(node: Node) -> Rule:
    """The rule for a call that converts integers, such as positions, lengths and counts, or booleans to float32."""
    dtypes = {operand.meta["val"].dtype for operand in node.all_input_nodes if hasattr(operand.meta["val"], "dtype")}
    return _POSITIONS if dtypes - {torch.bool} else _MADE_FLOAT


def is_cast_of_truth(node: Node) -> bool:
    """Whether a call converts truth values."""
    source = node.args[0] if node.args else None
    return name_of(node) in CASTS and isinstance(source, Node) and source.meta["val"].dtype == torch.bool


def number_beyond_half(node: Node) -> float | None:
    """A number among the operands of a call that float16 cannot hold with 11 significant bits; None if it can hold all
    of them. Sizes, dimensions and the epsilon of a norm, which kernels keep as they are, do not count."""
    arguments = node.target._schema.arguments
    given = dict(zip((argument.name for argument in arguments), node.args, strict=False)) | node.kwargs
    for argument in arguments:
        kind, value = argument.type, given.get(argument.name)
        if isinstance(kind, torch.OptionalType):
            kind = kind.getElementType()
        is_operand = isinstance(kind, (torch.TensorType, torch.NumberType)) and isinstance(value, (int, float))
        if is_operand and not is_half(float(value)):
            return float(value)
    return None


def is_half(number: float) -> bool:
    """Whether float16 holds a number with 11 bits: it is 0, infinite, NaN, or in the normal range."""
    if number == 0 or not math.isfinite(number):
        return True
    return bool(HALF_LIMITS.smallest_normal <= abs(number) <= HALF_LIMITS.max)


def refusal_of_weight(weight: Any) -> str | None:
    """Why the values of a constant stay in float32; None if float16 holds them."""
    finite = weight.detach()[torch.isfinite(weight)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    if largest > HALF_LIMITS.max:
        return f"its values reach {largest:.3g}, and float16 ends at {HALF_LIMITS.max:g}"
    if 0 < largest < HALF_LIMITS.smallest_normal:
        return f"its values end at {largest:.3g}, below the normal range of float16"
    return None
