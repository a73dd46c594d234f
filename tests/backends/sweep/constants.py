# SPDX-License-Identifier: BSD-3-Clause
"""The sizes at which kernels take another code path, read from the constants in their sources.

A constant that is renamed or moved fails the suite, so that the sizes follow the kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_SIMD = "kernels/simd/gemm.cpp"
_TILE = "kernels/simd/gemm_tile-inl.h"
_INTERFACE = "sdk/cpp/executorch/runtime/kernel/thread_parallel_interface.h"
_XNNPACK = "backends/xnnpack/runtime"


@cache
def constants(path: str, name: str) -> tuple[int, ...]:
    """All values of the constant `name` in a source file: numbers, or products of numbers."""
    text = (_ROOT / path).read_text()
    found = re.findall(rf"\b{name} = (?:int64_t\(|size_t\{{)?(\d+)[)}}]?((?: \* \d+)*)(?= ?[,;)}}])", text)
    if not found:
        raise LookupError(f"{path} defines no number {name}: tests/backends/sweep/constants.py follows the kernels")
    values = []
    for first, rest in found:
        value = int(first)
        for factor in re.findall(r"\d+", rest):
            value *= int(factor)
        values.append(value)
    return tuple(values)


def around(*values: int) -> tuple[int, ...]:
    """Each value, the one below and the one above, without those below 1, in ascending order."""
    return tuple(sorted({v + d for v in values for d in (-1, 0, 1) if v + d > 0}))


def capped(values: Iterable[int], most: int) -> tuple[int, ...]:
    return tuple(v for v in values if v <= most)


LANES = tuple(
    sorted(
        {
            *constants("kernels/portable/cpu/math/gemm.cpp", "kWidth"),
            *constants(f"{_XNNPACK}/kernels/depthwise_avx2.cpp", "kWidth"),
            *constants(f"{_XNNPACK}/kernels/depthwise_avx512.cpp", "kWidth"),
        }
    )
)
"""Float32 elements of a vector, on each processor that kernels are compiled for."""

TILE_ROWS = tuple(
    sorted(
        {
            *constants(_TILE, "kTileRows"),
            *constants("kernels/simd/gemm.h", "kGemmRowUnit"),
            *constants("kernels/portable/cpu/math/gemm.cpp", "kRows"),
            *constants(f"{_XNNPACK}/kernels/product_tiles.h", "kRows"),
        }
    )
)
"""Rows of a GEMM's tile, and those that go to a thread together."""

PANEL = constants("kernels/simd/gemm.h", "kGemmMaxPanelWidth")[0]
"""Columns of a GEMM's panel, at most."""
DEPTH = constants(_SIMD, "kMaxDepth")[0]
"""Rows of a panel."""
STREAMS = constants(_SIMD, "kStreams")[0]
"""Rows of the right matrix that a product of one row reads at a time."""
STRIP = constants(_SIMD, "kStripColumns")[0]
"""Columns that a product of one row computes at a time."""
CONVERTED = constants("kernels/portable/cpu/math/matrix.cpp", "kChunk")[0]
"""Columns of a product of other dtypes than float32."""

GRAIN = constants(_INTERFACE, "GRAIN_SIZE")[0]
"""Elements that are worth a thread."""
PRODUCTS = constants(_INTERFACE, "GRAIN_PRODUCTS")[0]
"""Multiply-adds that are worth a thread."""

BLOCK = constants("kernels/portable/cpu/pattern/block_reader.h", "kBlock")[0]
"""Elements that the portable kernels compute at a time."""
EXACT_BLOCK = constants(f"{_XNNPACK}/kernels/exact_functions.cpp", "kBlock")[0]
REDUCED_LANES = constants("kernels/portable/cpu/pattern/reduction.h", "kLanes")[0]
"""Sums that a reduction of a run has side by side; a run has as many of each."""
SOFTMAX_COLUMNS = constants("kernels/portable/cpu/op_softmax.cpp", "kColumns")[0]
POOL_RUN = constants("kernels/optimized/cpu/pooling/taps.h", "kPoolRun")[0]
"""Windows, or channels of one, that a pooling computes at a time."""
NORM_BLOCK = constants("kernels/optimized/cpu/op_normalization.cpp", "kBlock")[0]
"""Channels of a pixel that batch normalisation scales at a time."""
FILTER_TAPS = constants("kernels/optimized/cpu/convolution/planes.cpp", "kMaxTaps")[0]
FILTER_PARAMETER = constants("kernels/optimized/cpu/convolution/planes.cpp", "kMaxParameter")[0]
PORTABLE_TAPS = constants("kernels/portable/cpu/convolution/depthwise_convolution.cpp", "kMaxTaps")[0]
SHALLOW_CHANNELS = constants(f"{_XNNPACK}/steps/shallow_step.cpp", "kMostChannels")[0]
SHALLOW_SIDE = constants(f"{_XNNPACK}/steps/shallow_step.cpp", "kMostSide")[0]
WINOGRAD_COLUMNS = constants(f"{_XNNPACK}/steps/winograd_step.cpp", "kColumns")[0]
INTEGER_ROWS = constants(f"{_XNNPACK}/kernels/integer_products_vnni.cpp", "kTileRows")[0]


def grain_for(work: int, per_index: int) -> int:
    """The grain size, as computed by grain_for() of the runtime."""
    return -(-work // max(per_index, 1))


VECTORS = around(*(lanes * unrolled for lanes in LANES for unrolled in (1, 2, 4)))
"""Elements around whole vectors, alone and unrolled."""
BLOCKS = around(BLOCK, REDUCED_LANES * REDUCED_LANES, EXACT_BLOCK)
GRAINS = around(GRAIN, 2 * GRAIN, 3 * GRAIN, 8 * GRAIN)
ROWS = around(*TILE_ROWS, 2 * TILE_ROWS[-1], INTEGER_ROWS)
COLUMNS = around(*LANES, *(2 * lanes for lanes in LANES), PANEL, 2 * PANEL)
DEPTHS = around(1, STREAMS, CONVERTED, DEPTH)
