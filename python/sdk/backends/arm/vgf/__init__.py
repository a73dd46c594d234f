# SPDX-License-Identifier: BSD-3-Clause
"""VGF, Arm's files for GPUs with Vulkan's extensions for tensors and data graphs: `VgfPartitioner` makes them of the
parts of a model."""

from sdk.extras import lazily

_PLACES = {
    "VgfBackend": "sdk.backends.arm.vgf.backend",
    "VgfCompileSpec": "sdk.backends.arm.vgf.compile_spec",
    "VgfPartitioner": "sdk.backends.arm.vgf.partitioner",
}
__all__ = sorted(_PLACES)
__getattr__ = lazily(globals(), _PLACES)
