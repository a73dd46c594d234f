# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of Metal Performance Shaders (`sdk.backends.registry`)."""

from __future__ import annotations

from sdk.backends.language_models import LanguageModels
from sdk.backends.registry import Backend

BACKEND = Backend(
    name="mps",
    id="MPSBackend",
    about="the GPU of Apple's chips, by Metal Performance Shaders",
    partitioner="sdk.backends.apple.mps.partition:MPSPartitioner",
    runner="sdk.backends.apple.mps.verify.program:ReferenceProgram",
    runner_note="an interpreter in PyTorch, which is not Apple's arithmetic: run it on a device too",
    operators="sdk.backends.apple.mps.operators:VISITORS",
    language_models=LanguageModels(settings="sdk.backends.apple.mps.llm:MPSConfig"),
    tolerance=5e-3,  # float16 with rounding after each operation
)
