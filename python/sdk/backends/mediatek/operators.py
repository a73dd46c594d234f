# SPDX-License-Identifier: BSD-3-Clause
"""The operators for MediaTek's NPUs: operators of the public "MDLA 3.0 Guidelines" of the Neuron SDK
(mediatek.gitlab.io/aiot/doc), with their limits, and operators that `NeuropilotQuantizer` annotates. If MediaTek's
converter is installed, it must support a call, too."""

from __future__ import annotations

from typing import Final

import torch

from sdk.backends.npu.operators import Limits, table

LIMITS: Final = Limits(
    title="MediaTek",
    dtypes=frozenset(
        (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32)
    ),
    most_dimensions=4,
    largest_size=65535,
)

_NAMES = (
    "_adaptive_avg_pool2d.default", "_log_softmax.default", "_native_batch_norm_legit_no_training.default",
    "_safe_softmax.default", "_softmax.default", "_to_copy.default", "abs.default", "add.Scalar", "add.Tensor",
    "addmm.default", "alias_copy.default", "amax.default", "amin.default", "argmax.default", "argmin.default",
    "avg_pool2d.default", "bmm.default", "cat.default", "clamp.default", "clone.default", "constant_pad_nd.default",
    "convolution.default", "div.Scalar", "div.Tensor", "elu.default", "embedding.default", "exp.default",
    "expand_copy.default", "gelu.default", "hardsigmoid.default", "hardswish.default", "hardtanh.default",
    "leaky_relu.default", "linear.default", "log.default", "max_pool2d_with_indices.default", "maximum.default",
    "mean.dim", "minimum.default", "mm.default", "mul.Scalar", "mul.Tensor", "native_group_norm.default",
    "native_layer_norm.default", "neg.default", "permute_copy.default", "pixel_shuffle.default",
    "pixel_unshuffle.default", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "prelu.default", "reciprocal.default",
    "relu.default", "repeat.default", "rms_norm.default", "rsqrt.default", "select_copy.int", "sigmoid.default",
    "silu.default", "slice_copy.Tensor", "split_with_sizes_copy.default", "sqrt.default", "squeeze_copy.dim",
    "squeeze_copy.dims", "sub.Scalar", "sub.Tensor", "sum.dim_IntList", "t_copy.default", "tanh.default",
    "transpose_copy.int", "unsqueeze_copy.default", "upsample_bilinear2d.default", "upsample_bilinear2d.vec",
    "upsample_nearest2d.default", "upsample_nearest2d.vec", "view_copy.default",
)  # fmt: skip

OPERATORS: Final = table(
    LIMITS.title,
    (
        *(f"aten.{name}" for name in _NAMES),
        "dim_order_ops._to_dim_order_copy.default",
        "dim_order_ops._clone_dim_order.default",
    ),
)

WHOLE: Final = tuple(
    f"aten.{name}"
    for name in (
        "_safe_softmax.default", "hardsigmoid.default", "hardswish.default", "linear.default", "pixel_shuffle.default",
        "prelu.default", "silu.default", "upsample_bilinear2d.default", "upsample_bilinear2d.vec",
        "upsample_nearest2d.default", "upsample_nearest2d.vec",
    )
)  # fmt: skip
"""The operators that the exporter would decompose and MediaTek has."""
