# SPDX-License-Identifier: BSD-3-Clause
"""Re-exports `tile_crop`, which is registered in Python, under the name of the module that loads the C++ kernel in
ExecuTorch."""

from __future__ import annotations

from sdk.extension.llm.custom_ops.preprocess_custom_ops import MAX_NUM_TILES as MAX_NUM_TILES
from sdk.extension.llm.custom_ops.preprocess_custom_ops import preprocess_op_lib, tile_crop

preprocess_ops_lib = preprocess_op_lib

__all__ = ["MAX_NUM_TILES", "preprocess_ops_lib", "tile_crop"]
