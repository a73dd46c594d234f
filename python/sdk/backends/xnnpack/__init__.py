# SPDX-License-Identifier: BSD-3-Clause
"""`XnnpackPartitioner` delegates parts of a model to XNNPACK, which runs them on CPUs. Importing this package is fast,
because each name is loaded when it is first used."""

from __future__ import annotations

from sdk.extras import lazily

_EXPORTS = {
    "XnnpackBackend": "sdk.backends.xnnpack.xnnpack_preprocess",
    "XnnpackDynamicallyQuantizedPartitioner": "sdk.backends.xnnpack.partition.xnnpack_partitioner",
    "XnnpackPartitioner": "sdk.backends.xnnpack.partition.xnnpack_partitioner",
    "get_xnnpack_edge_compile_config": "sdk.backends.xnnpack.utils.configs",
    "get_xnnpack_executorch_backend_config": "sdk.backends.xnnpack.utils.configs",
}

__all__ = sorted(_EXPORTS)
__getattr__ = lazily(globals(), _EXPORTS)
