# SPDX-License-Identifier: BSD-3-Clause
"""The names of the stages of an export."""

from __future__ import annotations

from enum import Enum


class StageType(str, Enum):
    """A step from a model to a program. `ExportRecipe.pipeline_stages` lists the stages to run, in order."""

    SOURCE_TRANSFORM = "source_transform"
    """Quantise the modules themselves with torchao."""

    QUANTIZE = "quantize"
    """Post-training quantisation (PT2E): capture, annotate, calibrate with the example inputs, convert."""

    TORCH_EXPORT = "torch_export"
    """Capture as a graph of ATen operators."""

    TO_EDGE_TRANSFORM_AND_LOWER = "to_edge_transform_and_lower"
    """Edge dialect, passes and delegation in one step. Partitioners can keep operators whole."""

    TO_EDGE = "to_edge"
    """Edge dialect only."""

    EDGE_PROGRAM_MANAGER_TRANSFORM = "edge_program_manager_transform"
    """Passes over programs in edge dialect."""

    TO_BACKEND = "to_backend"
    """Delegation of programs in edge dialect."""

    TO_EXECUTORCH = "to_executorch"
    """Out variants, planned memory and the bytes of the program."""
