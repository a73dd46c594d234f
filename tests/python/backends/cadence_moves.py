# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the passes that move calls."""

from __future__ import annotations

import torch
from cadence_graphs import (
    EDGE,
    Case,
    aten,
    cadence,
    cat_quantized,
    cat_used_twice,
    chain,
    floats,
    late,
    quantized,
    quantized_twice,
    slice_of_sum,
    slices_quantized,
)

from sdk.backends.cadence.aot import reorder_ops

MOVES: dict[str, Case] = {
    "advance": (
        reorder_ops.AdvanceQuantizeOpAboveDefChainPass,
        floats(2, 6),
        chain(
            (aten.view_copy.default, [3, 4]),
            (aten.transpose_copy.int, 0, 1),
            (cadence.quantize_per_tensor.default, *EDGE),
        ),
        aten.linear.default,
        0,
        cadence.quantize_per_tensor.default,
    ),
    "postpone": (
        reorder_ops.PostponeDequantizeOpBelowUseChainPass,
        quantized(4, 6),
        chain(
            (cadence.dequantize_per_tensor.default, *EDGE),
            (aten.slice_copy.Tensor, 0, 1, 3),
            (aten.view_copy.default, [12]),
        ),
        aten.linear.default,
        0,
        cadence.dequantize_per_tensor.default,
    ),
    "slice_permute": (
        reorder_ops.MoveSliceBeforePermutePass,
        floats(2, 3, 4),
        chain((aten.permute_copy.default, [2, 0, 1]), (aten.slice_copy.Tensor, 0, 1, 2)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "permute_view": (
        reorder_ops.PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
        floats(2, 3, 4),
        chain((aten.permute_copy.default, [2, 0, 1]), (aten.view_copy.default, [4, 1, 2, 3])),
        aten.linear.default,
        0,
        aten.view_copy.default,
    ),
    "sink": (reorder_ops.SinkOpsCloserToUsePass, floats(3), late, aten.linear.default, 0, aten.full.default),
    "hoist": (reorder_ops.HoistOpsCloserToDefPass, floats(3), late, aten.linear.default, 0, aten.slice_copy.Tensor),
    "slice_view": (
        reorder_ops.MoveSliceBeforeViewPass,
        floats(2, 6, 4),
        chain((aten.view_copy.default, [2, 3, 8]), (aten.slice_copy.Tensor, 1, 1, 3)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "slice_view_step": (
        reorder_ops.MoveSliceBeforeViewPass,
        floats(1, 5, 12),
        chain((aten.view_copy.default, [1, 5, 4, 3]), (aten.slice_copy.Tensor, 3, 2, 3)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "slice_view_kept": (
        reorder_ops.MoveSliceBeforeViewPass,
        floats(1, 5, 12),
        chain((aten.view_copy.default, [1, 5, 4, 3]), (aten.slice_copy.Tensor, 3, 0, 2)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "slice_quantize": (
        reorder_ops.PropagateSlice,
        floats(4, 6),
        chain((cadence.quantize_per_tensor.default, *EDGE), (aten.slice_copy.Tensor, 1, 0, 5, 2)),
        aten.linear.default,
        0,
        aten.slice_copy.Tensor,
    ),
    "slice_row": (
        reorder_ops.PropagateSlice,
        [*floats(3, 5), *floats(5)],
        slice_of_sum,
        aten.linear.default,
        0,
        aten.add.Tensor,
    ),
    "advance_cat": (
        reorder_ops.AdvanceQuantizeOpAboveDefChainPass,
        [*floats(2, 3), *floats(2, 2)],
        cat_quantized,
        aten.linear.default,
        0,
        cadence.quantize_per_tensor.default,
    ),
    "split_cat": (
        reorder_ops.SplitDequantizedCatPass,
        [*quantized(2, 4), *floats(3, 4)],
        cat_used_twice,
        aten.cat.default,
        2,
        aten.neg.default,
    ),
    "branch": (
        reorder_ops.AdvanceQuantizeOpAboveDefInBranchPass,
        floats(4, 3),
        slices_quantized,
        cadence.quantize_per_tensor.default,
        3,
        cadence.dequantize_per_tensor.default,
    ),
    "branch_of_wider_users": (
        reorder_ops.AdvanceQuantizeOpAboveDefInBranchPass,
        [torch.tensor([0.5, -9.0, 8.0, 3.0])],
        quantized_twice(0.01, 0.01, 0.1),
        cadence.quantize_per_tensor.default,
        3,
        None,
    ),
    "branch_of_narrower_users": (
        reorder_ops.AdvanceQuantizeOpAboveDefInBranchPass,
        [torch.tensor([0.5, -9.0, 8.0, 3.0])],
        quantized_twice(0.1, 0.1, 0.05),
        cadence.quantize_per_tensor.default,
        4,
        cadence.dequantize_per_tensor.default,
    ),
}
