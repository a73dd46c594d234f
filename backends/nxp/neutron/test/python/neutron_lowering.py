# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that quantise, lower and run models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import export

from npu_models import written
from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.neutron.verify import ReferenceProgram
from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.nxp.quantizer.utils import calibrate_and_quantize
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec

TARGET = NeutronTargetSpec("imxrt700")
REFERENCE = CompileSpec("reference-payload", b"1")


def quantized(model: torch.nn.Module, inputs: tuple[Tensor, ...], is_qat: bool = False) -> Any:
    """The model with quantise and dequantise calls."""
    return calibrate_and_quantize(export(model, inputs), [inputs], NeutronQuantizer(TARGET, is_qat), is_qat)


def lower(model: torch.nn.Module, inputs: tuple[Tensor, ...], *specs: CompileSpec, **named: Any) -> EdgeProgramManager:
    compile_spec = [*generate_neutron_compile_spec("imxrt700", **named), REFERENCE, *specs]
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[NeutronPartitioner(compile_spec)])


def computed(manager: EdgeProgramManager, inputs: tuple[Tensor, ...], folder: Path) -> Tensor:
    """The first output of the program in the interpreter."""
    result: Tensor = ReferenceProgram(written(manager, folder)).run_method("forward", inputs)[0]
    return result
