# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of the demo backend."""

from __future__ import annotations

from sdk.backends.registry import Backend

BACKEND = Backend(
    name="demo",
    id="DemoBackend",
    about="adds float32 tensors",
    partitioner="sdk.backends.demo.partitioner:DemoPartitioner",
)
