# SPDX-License-Identifier: BSD-3-Clause
"""What the portable library does not do as eager does, each with the reason. A gap that is closed must leave the
table: the tests fail on an entry that passes."""

from __future__ import annotations

NOT_REACHED: dict[str, str] = {
    "copy_": "writes in place; programs of the exporter use copy.out, which is tested",
    "index_put_": "writes in place; index_put.out is tested with the same kernel",
    "native_dropout.out": "random; without training it is tested in kernels/portable/test",
}
"""Operators of functions.yaml that neither an OpInfo nor extra_calls.py calls, with what tests them instead."""

_TRAINING = "with training=True it would change the running statistics, which may be constants, in place"

GAPS: dict[tuple[str, str], str] = {
    ("_native_batch_norm_legit.out", dtype): _TRAINING for dtype in ("float32", "float64", "float16", "bfloat16")
}
"""(operator, dtype) that fails for some arguments."""

ACCEPTED: dict[str, str] = {}
"""Operators that take arguments which eager refuses."""
