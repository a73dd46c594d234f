# SPDX-License-Identifier: BSD-3-Clause
"""Cases of reductions and sorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from eager_case_format import ALL, FLOATS, INF, INTEGERS, NAN, Fails, channels_last, of, tensor


def reduction_cases() -> Iterator[tuple[Any, ...]]:
    for name in ("sum.IntList_out", "mean.out"):
        for dim in ([0], [1], [-1], [0, 2], [1, 2], [0, 1, 2], [], None):
            yield name, tensor(3, 2, 5), dim, True
            yield name, tensor(3, 2, 5), dim
        yield name, tensor(140), [0]
        yield name, tensor(70, 3), [0]
        yield name, channels_last(2, 3, 2, 4), [2, 3]
        yield name, channels_last(2, 3, 2, 4), [2, 3], True
        yield name, channels_last(2, 3, 2, 4), [1]
        yield name, tensor(3, 4, dtype=torch.float16), [1]
        yield name, tensor(3, 4, dtype=torch.int32), [1], False, {"dtype": torch.float32}
        yield name, tensor(), []
        yield name, torch.zeros(0, 3), [0]
        yield name, torch.zeros(3, 0), [0]
        yield name, tensor(3, 4), [2], Fails(tensor(3))
        yield name, tensor(3, 4), [0, 0], Fails(tensor(3))
    for dtype in (*INTEGERS, torch.bool):
        yield "sum.IntList_out", tensor(3, 4, dtype=dtype), [0]
    # Each element is truncated before it is added; the sum is not truncated.
    yield "sum.IntList_out", torch.tensor([[1.6, -2.7], [1.6, 0.3]]), [0], {"dtype": torch.int64}
    yield "mean.dtype_out", tensor(3, 4)
    for name in ("amax.out", "amin.out"):
        for dtype in ALL:
            yield name, tensor(3, 4, dtype=dtype), [1]
        yield name, tensor(3, 2, 5), [0, 2], True
        yield name, of([1.0, NAN], [INF, 3.0]), [1]
        yield name, of([-INF, -INF], [INF, 3.0]), [0]
        yield name, torch.zeros(0, 3), [0], Fails(torch.zeros(3))
    for name in ("max.unary_out", "min.unary_out", "prod.out"):
        yield name, tensor(3, 4)
        yield name, tensor(7, dtype=torch.int64)
    yield "prod.int_out", tensor(3, 4, dtype=torch.int32), 1
    yield "prod.int_out", tensor(3, 4), 0, True
    for name in ("any", "all"):
        for dtype in (torch.bool, torch.float32, torch.int32, torch.uint8):
            values = tensor(3, 4, dtype=torch.bool).logical_or(of(1, 0, 0, 0)).to(dtype)
            yield f"{name}.out", values, 0
            yield f"{name}.out", values, 1, True
            yield f"{name}.all_out", values
            yield f"{name}.dims_out", values, [0, 1]
            yield f"{name}.dims_out", values, []
            yield f"{name}.dims_out", values, None
        yield f"{name}.out", torch.zeros(2, 0), 1
    for name in ("argmax.out", "argmin.out"):
        for dtype in (*FLOATS, torch.int32, torch.uint8):
            yield name, tensor(3, 4, dtype=dtype), 1
        yield name, tensor(3, 2, 5), 1, True
        yield name, tensor(3, 4)
        yield name, tensor(3, 4), None, True
        yield name, channels_last(2, 3, 2, 4)
        yield name, channels_last(2, 3, 2, 4), 1
        yield name, of(1.0, NAN, 5.0, NAN), 0
        yield name, of(1, 5, 5, 1), 0
        yield name, tensor(), 0
        yield name, tensor(140)
    for name in ("max.dim_max", "min.dim_min"):
        yield name, tensor(3, 4), 1
        yield name, tensor(3, 4, dtype=torch.int64), 0, True
        yield name, of([1.0, NAN, 3.0]), -1
        yield name, tensor(5, dtype=torch.bool), 0
    for name, unbiased in (("var.out", True), ("var.out", False)):
        yield name, tensor(3, 40), [1], unbiased
        yield name, tensor(3, 2, 5), [0, 2], unbiased, True
    yield "var.correction_out", tensor(2, 140) + 100, [1], {"correction": 0}
    yield "var.correction_out", tensor(3, 4), None, {"correction": 2}
    yield "var.correction_out", tensor(3, 1), [1], {"correction": 1}
    yield "var.correction_out", tensor(3, 4, dtype=torch.float64), [0]
    yield "var_mean.correction_out", tensor(3, 40), [1], {"correction": 1, "keepdim": True}
    for dim in (0, 1, -1):
        yield "cumsum.out", tensor(3, 4), dim
    yield "cumsum.out", tensor(140), 0
    yield "cumsum.out", tensor(4, dtype=torch.int32), 0
    yield "cumsum.out", tensor(4, dtype=torch.bool), 0
    yield "cumsum.out", tensor(4, dtype=torch.int32), 0, {"dtype": torch.float32}
    yield "cumsum.out", tensor(), 0


def sort_cases() -> Iterator[tuple[Any, ...]]:
    for dtype in ALL:
        yield "sort.values_stable", tensor(3, 9, dtype=dtype, low=-2, high=2), {"stable": True}
    for descending in (True, False):
        options = {"stable": True, "descending": descending}
        yield "sort.values_stable", of(3.0, NAN, -1.0, 3.0, INF, NAN, 0.0), options
        yield "sort.values_stable", tensor(7, 3), options | {"dim": 0}
        yield "sort.values_stable", channels_last(1, 3, 4, 2), options | {"dim": 1}
        yield "sort.values", of(4, 1, 3, 2, dtype=torch.int32), 0, descending
    yield "sort.values", tensor()
    for largest in (True, False):
        yield "topk.values", of(3.0, 9.0, -1.0, 4.0, 7.5), 3, -1, largest
        yield "topk.values", torch.randperm(40).reshape(4, 10), 4, 0, largest
        yield "topk.values", torch.randperm(40).reshape(4, 10).float(), 10, 1, largest
    yield "topk.values", tensor(3), 0
    yield "topk.values", tensor(3), 4, Fails(tensor(4), of(0, 0, 0, 0, dtype=torch.int64))
