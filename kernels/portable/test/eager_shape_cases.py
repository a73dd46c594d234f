# SPDX-License-Identifier: BSD-3-Clause
"""Cases of operators that move, make and choose elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from eager_case_format import ALL, NAN, Fails, channels_last, of, tensor


def shape_cases() -> Iterator[tuple[Any, ...]]:
    for dtype in ALL:
        yield "permute_copy.out", tensor(2, 3, 4, dtype=dtype), [2, 0, 1]
        yield "cat.out", [tensor(2, 3, dtype=dtype), tensor(1, 3, dtype=dtype)], 0
    for dims in ([0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0], [0, 1, 3, 2], [0, 2, 1, 3]):
        yield "permute_copy.out", tensor(2, 3, 2, 4), dims
        yield "permute_copy.out", channels_last(2, 3, 2, 4), dims
    yield "permute_copy.out", tensor(18, 17), [1, 0]
    yield "permute_copy.out", tensor(), []
    yield "permute_copy.out", torch.zeros(2, 0, 3), [1, 2, 0]
    yield "permute_copy.out", tensor(2, 3), [0, 0], Fails(tensor(2, 3))
    yield "permute_copy.out", tensor(2, 3), [0], Fails(tensor(2, 3))
    yield "transpose_copy.int_out", tensor(2, 3, 4), 1, -1
    yield "transpose_copy.int_out", tensor(2, 3, 4), 0, 3, Fails(tensor(2, 3, 4))
    yield "t_copy.out", tensor(2, 3)
    yield "t_copy.out", tensor(4)
    yield "view_copy.out", tensor(2, 6), [3, -1]
    yield "view_copy.out", tensor(2, 6), [2, 2, 3, 1]
    yield "view_copy.out", tensor(), [1, 1]
    yield "view_copy.out", tensor(2, 6), [5, -1], Fails(tensor(5, 2))
    yield "view_copy.out", tensor(2, 6), [-1, -1], Fails(tensor(2, 6))
    yield "view_copy.out", tensor(2, 6), [2, 5], Fails(tensor(2, 5))
    yield "squeeze_copy.dim_out", tensor(2, 1, 3), 1
    yield "squeeze_copy.dim_out", tensor(2, 1, 3), 0
    yield "squeeze_copy.dims_out", tensor(1, 2, 1, 3), [0, 2, 3]
    yield "unsqueeze_copy.out", tensor(2, 3), -1
    yield "unsqueeze_copy.out", tensor(), 0
    yield "unsqueeze_copy.out", tensor(2), 3, Fails(tensor(2, 1))
    for name in ("alias_copy.out", "detach_copy.out", "lift_fresh_copy.out", "clone.out"):
        yield name, tensor(2, 3)
    yield "slice_copy.Tensor_out", tensor(5, 4), 0, 1, 4, 2
    yield "slice_copy.Tensor_out", tensor(5, 4), 1, -3
    yield "slice_copy.Tensor_out", tensor(5, 4), 0, 3, 1
    yield "slice_copy.Tensor_out", tensor(5, 4), 1, None, 9223372036854775807, 3
    yield "slice_copy.Tensor_out", channels_last(2, 4, 3, 3), 1, 1, 3
    yield "slice_copy.Tensor_out", tensor(5), 0, 0, 5, 0, Fails(tensor(5))
    yield "narrow_copy.out", tensor(5, 4), 1, 1, 2
    yield "narrow_copy.out", tensor(5, 4), 1, 3, 2, Fails(tensor(5, 2))
    yield "select_copy.int_out", tensor(3, 4, 2), 1, -1
    yield "select_copy.int_out", tensor(3), 0, 3, Fails(tensor())
    yield "slice_scatter.out", tensor(5, 4), tensor(2, 4), 0, 1, 4, 2
    yield "slice_scatter.out", tensor(5, 4), tensor(3, 4), 0, 1, 3, Fails(tensor(5, 4))
    yield "select_scatter.out", tensor(3, 4), tensor(3), 1, 2
    yield "cat.out", [tensor(2, 3), tensor(2, 1), tensor(0), tensor(2, 2)], -1
    yield "cat.out", [tensor(2, 3), tensor(2, 3, dtype=torch.int32)], 1
    yield "cat.out", [channels_last(1, 2, 3, 3), channels_last(1, 3, 3, 3)], 1
    yield "cat.out", [tensor(2, 3), tensor(3, 2)], 0, Fails(tensor(5, 3))
    yield "stack.out", [tensor(2, 3), tensor(2, 3)], 1
    yield "stack.out", [tensor(), tensor()], -1
    yield "stack.out", [tensor(2), tensor(3)], 0, Fails(tensor(2, 2))
    yield "split_copy.Tensor_out", tensor(5, 2), 2
    yield "split_copy.Tensor_out", tensor(2, 6), 3, 1
    yield "split_with_sizes_copy.out", tensor(2, 6), [1, 0, 5], 1
    yield "split_with_sizes_copy.out", tensor(2, 6), [1, 6], 1, Fails(tensor(2, 1), tensor(2, 6))
    yield "unbind_copy.int_out", tensor(3, 2, 2), 1
    yield "expand_copy.out", tensor(3, 1), [2, 3, 4]
    yield "expand_copy.out", tensor(3, 1), [-1, 5]
    yield "expand_copy.out", tensor(), [2]
    yield "expand_copy.out", tensor(3, 2), [3, 4], Fails(tensor(3, 4))
    yield "repeat.out", tensor(2, 3), [2, 1, 3]
    yield "repeat.out", tensor(2, 3), [0, 2]
    yield "flip.out", tensor(2, 3, 4), [0, -1]
    yield "roll.out", tensor(3, 4), [1, -2], [0, 1]
    yield "roll.out", tensor(3, 4), [5]
    yield "as_strided_copy.out", tensor(10), [2, 3], [1, 2], 3
    yield "as_strided_copy.out", tensor(5), [2, 3], [1, 2], 3, Fails(tensor(2, 3))
    for offset in (0, 1, -2):
        yield "diagonal_copy.out", tensor(3, 4, 2), offset
    yield "diagonal_copy.out", tensor(3, 4, 2), 0, 1, 2
    yield "unfold_copy.out", tensor(2, 7), 1, 3, 2
    yield "tril.out", tensor(2, 3, 4)
    yield "tril.out", tensor(4, 3, dtype=torch.int32), 1
    yield "tril.out", tensor(3, 3, dtype=torch.bool), -1
    yield "triu.out", tensor(3, 4), 1
    yield "triu.out", tensor(3, 4), -1
    yield "constant_pad_nd.out", tensor(2, 3), [1, 2, 0, 1], 1.5
    yield "constant_pad_nd.out", tensor(2, 5), [-1, 2]
    yield "constant_pad_nd.out", tensor(2, 3, dtype=torch.int64), [1, 1], 7
    yield "constant_pad_nd.out", channels_last(1, 2, 3, 3), [1, 1, 1, 1], 0
    for kind in ("reflection", "replication"):
        yield f"{kind}_pad1d.out", tensor(2, 5), [2, 3]
        yield f"{kind}_pad2d.out", tensor(1, 2, 3, 4), [2, 1, 1, 2]
        yield f"{kind}_pad3d.out", tensor(1, 1, 2, 3, 3), [1, 2, 2, 0, 1, 1]
    yield "reflection_pad1d.out", tensor(2, 3), [3, 0], Fails(tensor(2, 6))


def copy_and_create_cases() -> Iterator[tuple[Any, ...]]:
    for source in ALL:
        for target in ALL:
            yield "copy.out", tensor(4, dtype=target), tensor(4, dtype=source, low=0)
    yield "copy.out", tensor(2, 3), tensor(3)
    yield "copy_", tensor(2, 3), tensor(2, 1)
    yield "copy_", tensor(2, 3), tensor(2, 2), Fails()
    yield "_to_copy.out", tensor(2, 3), {"out_dtype": torch.int32}
    yield "_to_copy.out", of(0.0, 0.5, NAN, -2.0), {"out_dtype": torch.bool}
    yield "_to_copy.out", of(1e-8, 65520.0, 1e30, -70000.0), {"out_dtype": torch.float16}
    yield "full.out", [2, 3], 1.5
    yield "full.out", [2], 3, {"out_dtype": torch.int64}
    yield "full.out", [], True, {"out_dtype": torch.bool}
    yield "full_like.out", tensor(2, 3), -2
    yield "ones.out", [3]
    yield "zeros.out", [0, 3]
    yield "ones_like.out", tensor(2, dtype=torch.int8)
    yield "zeros_like.out", tensor(2, 2)
    yield "fill.Scalar_out", tensor(2, 2), 2.5
    yield "fill.Tensor_out", tensor(2, 2), tensor()
    yield "scalar_tensor.out", 2.5
    yield "scalar_tensor.out", 7, {"out_dtype": torch.int64}
    yield "arange.out", 5, {"out_dtype": torch.int64}
    yield "arange.out", 4.5
    yield "arange.start_out", 2, 11, 3, {"out_dtype": torch.int32}
    yield "arange.start_out", 1.0, -0.3, -0.25
    yield "arange.start_out", 1, 5, -1, Fails(tensor(1))


def index_cases() -> Iterator[tuple[Any, ...]]:
    i = of(2, 0, -1, dtype=torch.int64)
    j = of([1], [0], dtype=torch.int64)
    mask = of(True, False, True, dtype=torch.bool)
    data = tensor(3, 4, 3)
    for indices in ([i], [None, i], [i, i], [None, i, i], [i, None, i], [j, i], [None, None, i], [mask], [None, j]):
        yield "index.Tensor_out", data, indices
    yield "index.Tensor_out", data, [tensor(3, 4, dtype=torch.bool)]
    yield "index.Tensor_out", data, [mask, None, of(0, 2, dtype=torch.int64)]
    yield "index.Tensor_out", data, [i.int()]
    yield "index.Tensor_out", data, [of(0, 3, dtype=torch.int64)], Fails(tensor(2, 4, 5))
    yield "index.Tensor_out", data, [i, of(1, 2, dtype=torch.int64)], Fails(tensor(3, 5))
    yield "index.Tensor_out", tensor(3, 4, dtype=torch.float16), [i, i]
    yield "index.Tensor_out", channels_last(2, 3, 4, 4), [None, i]
    for accumulate in (False, True):
        yield "index_put.out", tensor(3, 4), [i], tensor(3, 4), accumulate
        yield "index_put.out", tensor(3, 4), [None, of(1, 3, dtype=torch.int64)], tensor(2), accumulate
        yield "index_put.out", tensor(3, 4), [mask], tensor(), accumulate
        yield "index_put.out", tensor(3, 4, dtype=torch.int32), [i, i], tensor(3, dtype=torch.int32), accumulate
        yield "index_put_", tensor(3, 4), [i], tensor(4), accumulate
    yield "index_put.out", tensor(3), [of(1, 1, 1, dtype=torch.int64)], tensor(3), True
    yield "index_put.out", tensor(3, 4), [i], tensor(2, 4), Fails(tensor(3, 4))
    yield "index_select.out", tensor(3, 4), 1, of(3, 0, 0, dtype=torch.int64)
    yield "index_select.out", tensor(3, 4), 0, of(1, dtype=torch.int32)
    yield "index_select.out", tensor(3), 0, of(3, dtype=torch.int64), Fails(tensor(1))
    at = of([0, 1, 2], [2, 0, 0], dtype=torch.int64)
    yield "gather.out", tensor(2, 4), 1, at
    yield "gather.out", tensor(3, 3, dtype=torch.int16), 0, at
    yield "gather.out", tensor(2, 2), 1, at, Fails(tensor(2, 3))
    yield "scatter.src_out", tensor(2, 4), 1, of([0, 1, 2], [3, 0, 1], dtype=torch.int64), tensor(2, 3)
    yield "scatter.value_out", tensor(2, 4), 1, at, 9
    yield "scatter.value_out", tensor(3, 3, dtype=torch.int32), 0, at, 9
    yield "scatter_add.out", tensor(2, 4), 1, at, tensor(2, 3)
    yield "scatter_add.out", tensor(3, 3, dtype=torch.int64), 0, at, tensor(2, 3, dtype=torch.int64)
    yield "scatter_add.out", tensor(2, 2), 1, at, tensor(2, 3), Fails(tensor(2, 2))
    k = of([2, 0, -1], [1, -3, 0], dtype=torch.int64)
    for indices in ([k], [None, k], [None, None, k], [None, k, None], [k.int()]):
        yield "index.Tensor_out", data, indices
    yield "index.Tensor_out", tensor(2, 5), [None, of([0, 4], [1, 5], dtype=torch.int64)], Fails(tensor(2, 2, 2))
