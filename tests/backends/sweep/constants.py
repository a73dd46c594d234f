# SPDX-License-Identifier: BSD-3-Clause
"""The sizes at which kernels take another code path, read from the constants in their sources.

A backend names its own boundaries in `backends/<name>/test/boundaries.json`: for each kind of size in this file, the
constants as [file below the backend's folder, name]. A constant that is renamed or moved fails the suite, so that the
sizes follow the kernels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_SIMD = "kernels/simd/gemm.cpp"
_TILE = "kernels/simd/gemm_tile-inl.h"
_INTERFACE = "sdk/cpp/executorch/runtime/kernel/thread_parallel_interface.h"
_KINDS = {"lanes", "tile_rows", "rows", "elements", "input_channels", "image_sides"}


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


@cache
def of_backends(kind: str) -> tuple[int, ...]:
    """The sizes of a kind that all backends name."""
    values: list[int] = []
    for path in sorted((_ROOT / "backends").glob("**/test/boundaries.json")):
        named = json.loads(path.read_text())
        assert named.keys() <= _KINDS, f"{path}: the kinds are {', '.join(sorted(_KINDS))}"
        folder = path.parent.parent.relative_to(_ROOT)
        for file, name in named.get(kind, ()):
            values += constants(str(folder / file), name)
    return tuple(sorted(set(values)))


def around(*values: int) -> tuple[int, ...]:
    """Returns each value, its predecessor and its successor, without numbers below 1, in ascending order."""
    return tuple(sorted({v + d for v in values for d in (-1, 0, 1) if v + d > 0}))


def capped(values: Iterable[int], most: int) -> tuple[int, ...]:
    return tuple(v for v in values if v <= most)


LANES = tuple(sorted({*constants("kernels/portable/cpu/math/gemm.cpp", "kWidth"), *of_backends("lanes")}))
"""Float32 elements of a vector, on each processor that kernels are compiled for."""

TILE_ROWS = tuple(
    sorted(
        {
            *constants(_TILE, "kTileRows"),
            *constants("kernels/simd/gemm.h", "kGemmRowUnit"),
            *constants("kernels/portable/cpu/math/gemm.cpp", "kRows"),
            *of_backends("tile_rows"),
        }
    )
)
"""Rows of a GEMM's tile, and the unit in which rows are divided among threads."""

PANEL = constants("kernels/simd/gemm.h", "kGemmMaxPanelWidth")[0]
"""Columns of a GEMM's panel, at most."""
DEPTH = constants(_SIMD, "kMaxDepth")[0]
"""Rows of a panel."""
STREAMS = constants(_SIMD, "kStreams")[0]
"""Rows of the right matrix that a multiplication of one row reads at a time."""
STRIP = constants(_SIMD, "kStripColumns")[0]
"""Columns that a multiplication of one row computes at a time."""
CONVERTED = constants("kernels/portable/cpu/math/matrix.cpp", "kChunk")[0]
"""Columns that matrix multiplications in other dtypes than float32 convert at a time."""

GRAIN = constants(_INTERFACE, "GRAIN_SIZE")[0]
"""The grain size in elements."""
PRODUCTS = constants(_INTERFACE, "GRAIN_PRODUCTS")[0]
"""The grain size in multiply-adds."""

BLOCK = constants("kernels/portable/cpu/pattern/block_reader.h", "kBlock")[0]
"""Elements that the portable kernels compute at a time."""
REDUCED_LANES = constants("kernels/portable/cpu/pattern/reduction.h", "kLanes")[0]
"""Independent sums of a reduction; a chunk has that many elements for each of them."""
SOFTMAX_COLUMNS = constants("kernels/portable/cpu/op_softmax.cpp", "kColumns")[0]
POOL_RUN = constants("kernels/optimized/cpu/pooling/taps.h", "kPoolRun")[0]
"""Windows, or channels of a window, that pooling computes at a time."""
NORM_BLOCK = constants("kernels/optimized/cpu/op_normalization.cpp", "kBlock")[0]
"""Channels of a pixel that batch normalisation scales at a time."""
FILTER_TAPS = constants("kernels/optimized/cpu/convolution/planes.cpp", "kMaxTaps")[0]
FILTER_PARAMETER = constants("kernels/optimized/cpu/convolution/planes.cpp", "kMaxParameter")[0]
PORTABLE_TAPS = constants("kernels/portable/cpu/convolution/depthwise_convolution.cpp", "kMaxTaps")[0]
INPUT_CHANNELS = of_backends("input_channels")
"""Sizes of convolutions for which a backend has a separate kernel, up to this number."""
IMAGE_SIDES = of_backends("image_sides")


def grain_for(work: int, per_index: int) -> int:
    """The grain size, as computed by grain_for() of the runtime."""
    return -(-work // max(per_index, 1))


VECTORS = around(*(lanes * unrolled for lanes in LANES for unrolled in (1, 2, 4)))
"""Elements around whole vectors, alone and unrolled."""
BLOCKS = around(BLOCK, REDUCED_LANES * REDUCED_LANES, *of_backends("elements"))
GRAINS = around(GRAIN, 2 * GRAIN, 3 * GRAIN, 8 * GRAIN)
ROWS = around(*TILE_ROWS, 2 * TILE_ROWS[-1], *of_backends("rows"))
COLUMNS = around(*LANES, *(2 * lanes for lanes in LANES), PANEL, 2 * PANEL)
DEPTHS = around(1, STREAMS, CONVERTED, DEPTH)
