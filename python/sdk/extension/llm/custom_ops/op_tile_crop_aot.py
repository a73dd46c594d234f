# SPDX-License-Identifier: BSD-3-Clause
"""`torch.ops.preprocess.tile_crop` under the name of ExecuTorch's module that loads the C++ kernel for it."""

from __future__ import annotations

from sdk.extension.llm.custom_ops.preprocess_custom_ops import MAX_NUM_TILES as MAX_NUM_TILES
from sdk.extension.llm.custom_ops.preprocess_custom_ops import preprocess_op_lib, tile_crop

preprocess_ops_lib = preprocess_op_lib

__all__ = ["MAX_NUM_TILES", "preprocess_ops_lib", "tile_crop"]
