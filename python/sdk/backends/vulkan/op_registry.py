# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the runtime. `vulkan_supported_ops` maps the name that an operator has in payloads to its
conditions. The partitioner delegates the calls that meet these conditions.

The conditions without `ours` and `widened` are those of ExecuTorch 1.4, which therefore runs the programs made with
`compat="1.4"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.vulkan import op_checks as check
from sdk.backends.vulkan.op_features import (
    ANY_DTYPE,
    BOOL,
    FLOATS,
    FLOATS_INTEGERS_BOOL,
    INT8,
    INTEGERS,
    NUMBERS,
    UINT8,
    OpFeatures,
)
from sdk.backends.vulkan.representations import (
    ANY_BUFFER,
    ANY_INT8,
    ANY_STORAGE,
    ANY_STORAGE_OR_INT8,
    ANY_TEXTURE,
    CHANNELS_TEXTURE,
    CONTIGUOUS_ANY,
    CONTIGUOUS_BUFFER,
    FLOATS_BESIDE_INT8,
    INT8_4H4W,
    INT8_4W,
    INT8_4W4C,
    INT8_CHANNELS,
    INT8_CONV2D,
    WIDTH_TEXTURE,
    Reprs,
)

vulkan_supported_ops: dict[str, OpFeatures] = {}

_FUNCTIONALIZED = (torch.ops.higher_order.auto_functionalized, torch.ops.higher_order.auto_functionalized_v2)

SYMBOLIC = frozenset(
    {
        "sym_size.int",
        "add",
        "sub",
        "floordiv",
        "mul",
        "lt",
        "gt",
        "ge",
        "le",
        "eq",
        "_assert_scalar.default",
        "sym_constrain_range_for_size.default",
    }
)
"""Operators on symbolic integers."""

VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "view_copy.default",
        "squeeze_copy.dims",
        "unsqueeze_copy.default",
        "clone.default",
        "alias_copy.default",
        "copy.default",
    )
) | frozenset(f"dim_order_ops.{name}.default" for name in ("_to_dim_order_copy", "_clone_dim_order"))
"""Operators that do not change elements. A delegate with only these is not worth its copies."""


def update_features(names: str | list[str]) -> Callable[[Callable[[], OpFeatures]], Callable[[], OpFeatures]]:
    """Registers operators, whose conditions the decorated function returns. Raises RuntimeError for a name that is
    registered already."""

    def decorate(make: Callable[[], OpFeatures]) -> Callable[[], OpFeatures]:
        _register([names] if isinstance(names, str) else names, make())
        return make

    return decorate


def has_impl(target: Any) -> bool:
    """Whether an operator is registered, given by its name (`aten.add.Tensor` or `aten::add.Tensor`) or as an operator
    of ATen or of the edge dialect."""
    return operator_name(target) in vulkan_supported_ops


def get_op_features(target: Any) -> OpFeatures:
    """Returns the conditions of an operator. Raises KeyError if it is not registered."""
    return vulkan_supported_ops[operator_name(target)]


def handles_own_prepacking(target: Any) -> bool:
    """Whether an operator packs its constants itself, so that they need no `et_vk.prepack`."""
    return get_op_features(target).supports_prepacking


def operator_name(target: Any) -> str:
    """The name under which an operator is registered: the name that calls of it have in a payload."""
    if isinstance(target, str):
        name = target.replace("::", ".")
        return name if name in vulkan_supported_ops or name.count(".") > 1 else f"{name}.default"
    name = str(getattr(target, "__name__", target))
    namespace = getattr(target, "namespace", None)  # the __name__ of ATen's operators has no namespace
    if isinstance(namespace, str) and not name.startswith(f"{namespace}.") and name not in SYMBOLIC:
        return f"{namespace}.{name}"
    return name


def called_operator(node: Any) -> str:
    """The name of the operator that a node calls; empty for nodes without one. In graphs without mutation, the target
    of an operator that changes an operand is a wrapper."""
    if not isinstance(node, Node) or node.op != "call_function":
        return ""
    return operator_name(node.args[0] if node.target in _FUNCTIONALIZED else node.target)


def _register(names: list[str], features: OpFeatures) -> None:
    for name in names:
        if name in vulkan_supported_ops:
            raise RuntimeError(f"the operator {name} is registered twice for Vulkan")
        vulkan_supported_ops[name] = features


def _ops(names: str, storage: tuple[Reprs | None, ...] | Reprs = ANY_STORAGE, /, **conditions: Any) -> None:
    """Registers operators of `namespace: name.overload ...`; names without an overload are `.default`."""
    namespace, _, rest = names.partition(":")
    full = [f"{namespace}.{name}" if "." in name else f"{namespace}.{name}.default" for name in rest.split()]
    _register(full, OpFeatures(inputs_storage=storage, **conditions))


_RESIZE: dict[str, Any] = {"supports_resize": True}
_ANY_RANK: dict[str, Any] = {"supports_resize": True, "supports_highdim": True}
_PACKS: dict[str, Any] = {"supports_resize": True, "supports_prepacking": True}
_F: dict[str, Any] = {"inputs_dtypes": FLOATS}
_FI: dict[str, Any] = {"inputs_dtypes": NUMBERS}
_B: dict[str, Any] = {"inputs_dtypes": BOOL}
_FIB: dict[str, Any] = {"inputs_dtypes": FLOATS_INTEGERS_BOOL}

# Symbolic integers, results of several tensors, and copies
_register([*sorted(SYMBOLIC), "getitem"], OpFeatures(**_RESIZE))
_ops("aten: copy", check=check.check_copy, **_RESIZE)

# Elementwise
_ops(
    "aten: abs cos exp gelu hardshrink hardswish hardtanh neg relu sigmoid sin sqrt rsqrt tanh round leaky_relu",
    **_F,
    **_RESIZE,
)
_ops("aten: clamp", **_FI, **_RESIZE)
_ops("aten: add.Tensor sub.Tensor minimum mul.Tensor div.Tensor div.Tensor_mode pow.Tensor_Tensor", **_FI, **_ANY_RANK)
_ops("aten: eq.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor", outputs_dtypes=BOOL, **_FI, **_ANY_RANK)
_ops("aten: bitwise_and.Tensor bitwise_or.Tensor bitwise_not logical_and logical_or logical_not", **_B, **_ANY_RANK)
_ops("aten: pow.Tensor_Scalar", **_F, **_ANY_RANK)
_ops("aten: eq.Scalar ne.Scalar lt.Scalar le.Scalar ge.Scalar gt.Scalar", outputs_dtypes=BOOL, **_FI, **_ANY_RANK)
_ops(
    "aten: _to_copy",
    outputs_dtypes=FLOATS_INTEGERS_BOOL,
    pick_storage=check.pick_to_copy,
    **_FIB,
    **_RESIZE,
)
_ops("aten: where.self", inputs_dtypes=(BOOL, FLOATS, FLOATS), outputs_dtypes=FLOATS, **_RESIZE)

_ops("aten: floor ceil trunc log reciprocal erf tan hardsigmoid silu elu", ours=True, **_F, **_ANY_RANK)
_ops("aten: sign", ours=True, **_FI, **_ANY_RANK)
_ops("aten: maximum", ours=True, **_FI, **_ANY_RANK)
_ops("aten: ne.Tensor", ours=True, outputs_dtypes=BOOL, **_FI, **_ANY_RANK)
_ops("aten: bitwise_xor.Tensor", ours=True, **_B, **_ANY_RANK)

# Softmax, and matrices
_ops("aten: _log_softmax _softmax", **_F, **_RESIZE)
_ops("aten: bmm mm addmm linear", CONTIGUOUS_ANY, constants=(), **_F, **_PACKS)

# Reductions
_ops("aten: mean.dim sum.dim_IntList amax amin", ANY_TEXTURE, pick_storage=check.pick_reduction, **_F, **_ANY_RANK)
_ops("aten: argmax argmin", pick_storage=check.pick_reduction, outputs_dtypes=INTEGERS, **_F, **_ANY_RANK)

_ops("aten: any.dim any.dims any all.dim", CONTIGUOUS_BUFFER, ours=True, **_B, **_ANY_RANK)
_ops("aten: var.correction", CONTIGUOUS_BUFFER, ours=True, **_F, **_ANY_RANK)

# Images
_ops("aten: avg_pool2d max_pool2d", CHANNELS_TEXTURE, check=check.check_pool, **_F, **_RESIZE)
_ops(
    "aten: max_pool2d_with_indices",
    CHANNELS_TEXTURE,
    outputs_dtypes=(FLOATS, INTEGERS),
    check=check.check_pool,
    **_F,
    **_RESIZE,
)
for _name in ("aten: convolution", "et_vk: conv_with_clamp"):
    _ops(
        _name,
        (CHANNELS_TEXTURE, *[None] * 10),
        check=check.check_convolution,
        pick_storage=check.pick_convolution,
        widened=check.widened_convolution,
        **_F,
        **_PACKS,
    )
_ops("aten: upsample_nearest2d.vec upsample_bilinear2d.vec", CHANNELS_TEXTURE, **_F)
_ops("aten: pixel_shuffle", **_F, **_RESIZE)
_ops("aten: grid_sampler_2d", (CHANNELS_TEXTURE, CONTIGUOUS_BUFFER), check=check.check_grid_sampler, **_F, **_RESIZE)
_ops("aten: _adaptive_avg_pool2d", CHANNELS_TEXTURE, ours=True, check=check.check_adaptive_pool, **_F, **_RESIZE)
_ops("aten: pixel_unshuffle", ours=True, **_F, **_RESIZE)
_ops("et_vk: grid_priors", CHANNELS_TEXTURE, **_F)

# Norms
_ops("aten: _native_batch_norm_legit_no_training", CHANNELS_TEXTURE, **_F, **_PACKS)
_ops(
    "aten: native_group_norm",
    CHANNELS_TEXTURE,
    outputs_storage=(CHANNELS_TEXTURE, CONTIGUOUS_BUFFER, CONTIGUOUS_BUFFER),
    supports_prepacking=True,
    **_F,
)
_ops("aten: native_layer_norm", **_F, **_PACKS)
_ops("et_vk: rms_norm", CONTIGUOUS_ANY, **_F, **_PACKS)

# Shapes
_ops("aten: permute", ANY_TEXTURE, **_FIB, **_RESIZE)
_ops("aten: permute_copy squeeze_copy.dims unsqueeze_copy gather", **_FIB, **_ANY_RANK)
_ops("aten: select_copy.int slice_copy.Tensor split_with_sizes_copy", **_FIB, **_ANY_RANK)
_ops("aten: view_copy clone alias_copy", ANY_STORAGE_OR_INT8, **_FIB, **_ANY_RANK)
_ops("dim_order_ops: _clone_dim_order", ANY_STORAGE_OR_INT8, **_FIB, **_ANY_RANK)
_ops("dim_order_ops: _to_dim_order_copy", ANY_BUFFER, **_FIB, **_ANY_RANK)
_ops("aten: expand_copy", supports_highdim=True, **_FIB)
_ops("aten: cat", **_FI, **_RESIZE)
_ops("aten: t_copy flip index_select", CHANNELS_TEXTURE, **_FIB)
_ops(
    "aten: index.Tensor",
    inputs_dtypes=(FLOATS_INTEGERS_BOOL, INTEGERS),
    check=check.check_index,
    widened=check.widened_index,
    **_RESIZE,
)
_ops(
    "aten: index_put index_put_",
    CONTIGUOUS_BUFFER,
    ours=True,
    inputs_dtypes=(NUMBERS, INTEGERS, NUMBERS),
    check=check.check_index_put,
    **_ANY_RANK,
)
_ops("aten: copy_", CONTIGUOUS_BUFFER, ours=True, **_FIB, **_ANY_RANK)
_ops("aten: constant_pad_nd", **_FIB, **_RESIZE)
_ops("aten: repeat", **_FIB)

# Created tensors
_ops("aten: arange.start_step", widened=check.widened_arange, **_FI)
_ops("aten: full full_like ones ones_like zeros zeros_like", **_FIB)
_ops("aten: scalar_tensor", CHANNELS_TEXTURE, **_FI, **_RESIZE)

# Tables
_ops("aten: embedding", inputs_dtypes=(FLOATS, INTEGERS), check=check.check_embedding, first=1, **_PACKS)
_ops(
    "quantized_decomposed: embedding_4bit.dtype",
    ANY_BUFFER,
    outputs_dtypes=FLOATS,
    check=check.check_embedding_4bit,
    first=5,
    **_PACKS,
)
_ops("et_vk: embedding_q4gsw", CONTIGUOUS_ANY, first=3, **_PACKS)

# Language models
_STATE: dict[str, Any] = {"inputs_dtypes": FLOATS, "outputs_dtypes": ANY_DTYPE, "supports_resize": True}
_ops(
    "llama: sdpa_with_kv_cache",
    CONTIGUOUS_ANY,
    check=check.check_sdpa_with_kv_cache,
    supports_prepacking=True,
    constants=(),
    **_STATE,
)
_ops("llama: update_cache", CONTIGUOUS_ANY, check=check.check_update_cache, **_STATE)
_ops(
    "llama: custom_sdpa",
    CONTIGUOUS_ANY,
    check=check.check_custom_sdpa,
    widened=check.widened_custom_sdpa,
    widened_dtypes={4: FLOATS | BOOL},
    **_F,
    **_RESIZE,
)
_ops("et_vk: sdpa", CONTIGUOUS_ANY, **_F, **_RESIZE)
_ops("et_vk: apply_rotary_emb apply_rotary_emb_hf", CONTIGUOUS_ANY, **_F, **_ANY_RANK)
_ops("et_vk: apply_rotary_emb_interleaved", (CONTIGUOUS_ANY, CONTIGUOUS_BUFFER), **_F, **_ANY_RANK)

# Matrices with quantised weights
_ops("aten: _weight_int8pack_mm", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, INT8, FLOATS), **_PACKS)
_ops("et_vk: linear_qcs4w", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, UINT8, FLOATS), **_PACKS)
_MATRIX: dict[str, Any] = {"outputs_dtypes": FLOATS, "supports_prepacking": True}
_ops("et_vk: linear_q8csw", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, INT8, FLOATS), ours=True, **_RESIZE, **_MATRIX)
_ops("et_vk: linear_q4gsw", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, UINT8, FLOATS), **_MATRIX)
_ops("et_vk: linear_q4gsw_backward", CONTIGUOUS_ANY, supports_prepacking=True, **_F)
_ops("et_vk: linear_q8ta_q8csw", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, ANY_DTYPE, ANY_DTYPE, INT8), first=0, **_MATRIX)
_ops(
    "et_vk: linear_dq8ca_q4gsw",
    (CONTIGUOUS_ANY, WIDTH_TEXTURE, WIDTH_TEXTURE, *[None] * 5),
    inputs_dtypes=(FLOATS, FLOATS, ANY_DTYPE, UINT8),
    constants=(3, 4, 5, 7),
    **_MATRIX,
)
_INT8_MATRIX: dict[str, Any] = {"inputs_dtypes": (INT8,), "outputs_dtypes": INT8, "supports_prepacking": True}
_ops("et_vk: q8ta_linear", (INT8_4H4W, *[None] * 9), outputs_storage=(INT8_4H4W,), **_INT8_MATRIX)
_ops("et_vk: q8ta_linear_gemv", (INT8_4W, *[None] * 9), outputs_storage=(INT8_4W,), **_INT8_MATRIX)

# Quantised images
_CONVOLVED: dict[str, Any] = {**_INT8_MATRIX, "outputs_storage": (INT8_CHANNELS,)}
_ops("et_vk: q8ta_conv2d_pw", (INT8_4W4C, *[None] * 14), **_CONVOLVED)
_ops("et_vk: q8ta_conv2d q8ta_conv2d_dw", (INT8_CONV2D, *[None] * 14), **_CONVOLVED)
_ops("et_vk: q8ta_conv2d_transposed", (INT8_CONV2D, *[None] * 15), **_CONVOLVED)
_ops("et_vk: q8ta_add", ANY_INT8, inputs_dtypes=(INT8, INT8))
_ops("et_vk: q8ta_relu", ANY_INT8, inputs_dtypes=(INT8,), **_RESIZE)
_ops("et_vk: q8ta_pixel_shuffle", INT8_CHANNELS, inputs_dtypes=(INT8,), **_RESIZE)

# Quantisation
_ops(
    "quantized_decomposed: quantize_per_channel quantize_per_token dequantize_per_channel dequantize_per_token "
    "choose_qparams.tensor choose_qparams_per_token_asymmetric",
    CONTIGUOUS_BUFFER,
    **_RESIZE,
)
_ops("torchao: quantize_affine dequantize_affine", CONTIGUOUS_BUFFER, **_RESIZE)
_ops("torchao: choose_qparams_affine", CONTIGUOUS_ANY, outputs_storage=(WIDTH_TEXTURE, WIDTH_TEXTURE), **_RESIZE)
_ops(
    "quantized_decomposed: quantize_per_tensor quantize_per_tensor.tensor",
    (FLOATS_BESIDE_INT8,),
    outputs_storage=(ANY_INT8,),
    supports_highdim=True,
)
_ops(
    "quantized_decomposed: dequantize_per_tensor dequantize_per_tensor.tensor",
    (ANY_INT8,),
    outputs_storage=(FLOATS_BESIDE_INT8,),
    supports_highdim=True,
)

# Training
_ops("et_vk: fused_ce", CONTIGUOUS_ANY, inputs_dtypes=(FLOATS, INTEGERS, ANY_DTYPE), outputs_dtypes=(FLOATS, FLOATS))
_ops("et_vk: adamw_step q4gsw_requant", CONTIGUOUS_ANY, **_F)
_ops("et_vk: linear_dW", CONTIGUOUS_ANY, supports_prepacking=True, **_F)

NOT_DELEGATED = frozenset(
    f"et_vk.{name}.default"
    for name in ("fused_ce", "adamw_step", "q4gsw_requant", "linear_dW", "linear_q4gsw_backward")
)
"""Operators for training, which the format has and the partitioner does not delegate."""

# Packing of constants, transitions between representations, and symbolic integers read from tensors
_ops("et_vk: prepack select_as_symint", **_RESIZE, supports_highdim=True)
