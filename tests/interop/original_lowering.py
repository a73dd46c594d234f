# SPDX-License-Identifier: BSD-3-Clause
"""How the original lowers a program for a backend, for `oracle.py lower=`; used in its environment only.

Each function gets a program and the inputs of a call, and returns the lowered program.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from torch.export import ExportedProgram, export

Inputs = tuple[Any, ...]


def kernels(program: ExportedProgram, inputs: Inputs) -> Any:
    return _lowered(program)


def xnnpack(program: ExportedProgram, inputs: Inputs) -> Any:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return _lowered(program, XnnpackPartitioner())


def vgf_partitioner() -> Any:
    from executorch.backends.arm.vgf import VgfCompileSpec, VgfPartitioner

    return VgfPartitioner(VgfCompileSpec())


def vgf(program: ExportedProgram, inputs: Inputs) -> Any:
    return _lowered(program, vgf_partitioner())


def vgf_int8(program: ExportedProgram, inputs: Inputs) -> Any:
    """Quantised with the original's quantizer, calibrated with the inputs."""
    from executorch.backends.arm.quantizer import VgfQuantizer, get_symmetric_quantization_config
    from executorch.backends.arm.vgf import VgfCompileSpec
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = VgfQuantizer(VgfCompileSpec()).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(program.module(check_guards=False), quantizer)
    prepared(*inputs)
    return vgf(export(convert_pt2e(prepared), inputs), inputs)


def openvino_partitioner() -> Any:
    # The partitioner's package imports a quantizer that needs nncf and packages of language models. It is not used.
    package = "executorch.backends.openvino.quantizer"
    for name in (package, f"{package}.quantizer"):
        module = ModuleType(name)
        module.__path__ = []
        module.OpenVINOQuantizer = None  # type: ignore[attr-defined]
        sys.modules[name] = module
    from executorch.backends.openvino.partitioner import OpenvinoPartitioner
    from executorch.exir.backend.backend_details import CompileSpec

    return OpenvinoPartitioner([CompileSpec("device", b"CPU")])


def openvino(program: ExportedProgram, inputs: Inputs) -> Any:
    return _lowered(program, openvino_partitioner())


def _lowered(program: ExportedProgram, *partitioners: Any) -> Any:
    from executorch.exir import to_edge_transform_and_lower

    return to_edge_transform_and_lower(program, partitioner=list(partitioners))
