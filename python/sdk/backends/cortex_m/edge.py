# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a quantised model to a program of the operators `cortex_m::*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from sdk.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from sdk.backends.cortex_m.target_config import CortexMTargetConfig
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge
from sdk.exir.pass_base import ExportedProgramPassBase, ExportedProgramPassResult

_aten = torch.ops.aten
PRESERVED = [
    *(_aten.linear.default, _aten.hardsigmoid.default, _aten.hardswish.default, _aten.silu.default),
    *(_aten.elu.default, _aten.leaky_relu.default),
]
"""Operators that cortex_m computes whole."""


def edge_compile_config() -> EdgeCompileConfig:
    """Returns the configuration for lowering to the edge dialect before `CortexMPassManager`."""
    return EdgeCompileConfig(
        preserve_ops=PRESERVED,
        _check_ir_validity=False,
        _core_aten_ops_exception_list=[_aten.max_pool2d.default],
    )


class ToCortexM(ExportedProgramPassBase):
    """Runs `CortexMPassManager` as one pass, for a processor, by default a Cortex-M55."""

    def __init__(self, target_config: CortexMTargetConfig | None = None) -> None:
        self._target_config = target_config

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        lowered = CortexMPassManager(exported_program, target_config=self._target_config).transform()
        return ExportedProgramPassResult(lowered, True)


def to_cortex_m(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    constant_methods: dict[str, Any] | None = None,
    target_config: CortexMTargetConfig | None = None,
) -> EdgeProgramManager:
    """Lowers programs that `CortexMQuantizer` has quantised for a processor, by default a Cortex-M55.

    Args:
        programs: An exported program, or one for each method by its name.
        constant_methods: Methods that return a constant.
        target_config: The processor.
    """
    config = edge_compile_config()
    edge = to_edge(programs, constant_methods=constant_methods, compile_config=config)
    lowered = {
        name: CortexMPassManager(edge.exported_program(name), target_config=target_config).transform()
        for name in sorted(edge.methods - edge.config_methods)
    }
    return EdgeProgramManager(lowered, constant_methods, config)
