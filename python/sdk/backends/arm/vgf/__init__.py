# SPDX-License-Identifier: BSD-3-Clause
"""VGF, Arm's file format for GPUs with Vulkan's extensions for tensors and data graphs. `VgfPartitioner` compiles parts
of a model to such files."""

from sdk.extras import lazily

_PLACES = {
    "VgfBackend": "sdk.backends.arm.vgf.backend",
    "VgfCompileSpec": "sdk.backends.arm.vgf.compile_spec",
    "VgfPartitioner": "sdk.backends.arm.vgf.partitioner",
}
__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
