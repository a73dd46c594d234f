# SPDX-License-Identifier: BSD-3-Clause
"""Passes that compute the upper bounds of dynamic tensors."""

from __future__ import annotations

from sdk.exir.dynamic_shape import DynamicMemoryPlanningMode
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.pass_base import PassType
from sdk.exir.passes.spec_prop_pass import SpecPropPass
from sdk.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass


def propagate_dynamic_shape(
    dynamic_memory_planning_mode: DynamicMemoryPlanningMode = DynamicMemoryPlanningMode.UPPER_BOUND,
) -> list[PassType]:
    """Passes to run, in order, on an edge graph."""
    if dynamic_memory_planning_mode != DynamicMemoryPlanningMode.UPPER_BOUND:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            "only DynamicMemoryPlanningMode.UPPER_BOUND is supported: memory is planned ahead of time",
        )
    return [SpecPropPass(), ConstraintBasedSymShapeEvalPass()]
