# SPDX-License-Identifier: BSD-3-Clause
"""What the portable library does not do as eager does, each with the reason. A gap that is closed must leave the
table: the tests fail on an entry that passes."""

from __future__ import annotations

_COMPLEX = "programs with complex tensors are refused when they load; tested in kernels/portable/test"

NOT_REACHED: dict[str, str] = {
    "_fft_c2c.out": _COMPLEX,
    "_fft_c2r.out": _COMPLEX,
    "_fft_r2c.out": _COMPLEX,
    "copy_": "writes in place; programs of the exporter use copy.out, which is tested",
    "index_put_": "writes in place; index_put.out is tested with the same kernel",
    "native_dropout.out": "random; without training it is tested in kernels/portable/test",
}
"""Operators of functions.yaml that neither an OpInfo nor extra_calls.py calls, with what tests them instead."""

_TRAINING = "with training=True it would change the running statistics, which may be constants, in place"

_INTEGER_GRADIENT = "gradients are floating-point in every model; the kernel refuses others"

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")

GAPS: dict[tuple[str, str], str] = {
    **{("_native_batch_norm_legit.out", dtype): _TRAINING for dtype in ("float32", "float64", "float16", "bfloat16")},
    ("avg_pool2d_backward.grad_input", "int64"): _INTEGER_GRADIENT,
    ("convolution_backward.out", "int64"): _INTEGER_GRADIENT,
    **{("embedding_dense_backward.out", dtype): _INTEGER_GRADIENT for dtype in _INTEGERS},
    ("upsample_bilinear2d.vec_out", "uint8"): "eager interpolates bytes in fixed point; the kernel refuses them",
}
"""(operator, dtype) that fails for some arguments."""

ACCEPTED: dict[str, str] = {}
"""Operators that take arguments which eager refuses."""
