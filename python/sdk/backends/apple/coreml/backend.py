# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Core ML (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.registry import Backend

BACKEND = Backend(
    name="coreml",
    id="CoreMLBackend",
    about="the CPU, the GPU and the Neural Engine of Apple's chips, by Core ML",
    partitioner="sdk.backends.apple.coreml.partition:CoreMLPartitioner",
    runner="sdk.backends.apple.coreml.verify.program:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not Apple's arithmetic: run it on a device too",
    tolerance=5e-3,  # float16 with rounding after each operation
    packages=("coremltools==9.0",),
)
