# SPDX-License-Identifier: BSD-3-Clause
"""Lowers quantised models with the original. Usage: ``original_neutron_lowering.py DIRECTORY``.

The modules that replace NXP's SDK answer as its converter does. For each ``NAME.pt2`` with a list of inputs in
``NAME.inputs.pt``, the script writes ``NAME.lowered.json``: the number of delegates, the operators that stay outside
of them, and the CPU seconds of the lowering without the converter.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[6] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "converter"))
sys.path.insert(0, str(Path(__file__).resolve().parents[6] / "python"))

import original_neutron
from eiq_neutron_sdk import neutron_converter

from interop import outside


def main(directory: Path) -> None:
    convert = neutron_converter.convertModel
    original_neutron.install()
    from executorch.backends.nxp.backend.neutron_converter_manager import NeutronConverterManager
    from executorch.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
    from executorch.backends.nxp.edge_passes.neutron_edge_pass_manager import NeutronEdgePassManager
    from executorch.backends.nxp.neutron_partitioner import NeutronPartitioner
    from executorch.backends.nxp.nxp_backend import generate_neutron_compile_spec
    from executorch.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
    from executorch.backends.nxp.quantizer.utils import calibrate_and_quantize
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    def converted(self: Any, model: bytes, *others: Any, **options: Any) -> bytes:
        begin = time.process_time()
        context = neutron_converter.CompilationContext()
        context.targetOpts = "imxrt700"
        context.compilationOpts.minNumOpsPerGraph = 1
        context.compilationOpts.excludeGraphPasses = "HoistSliceAboveTranspose,MergeTranspose"
        context.compilationOpts.dumpKernelSelectionCode = False
        made = bytes(convert(list(model), context))
        in_converter.append(time.process_time() - begin)
        return made

    in_converter: list[float] = []
    NeutronConverterManager.convert = converted
    for file in sorted(directory.glob("*.pt2")):
        inputs = torch.load(file.with_suffix(".inputs.pt"))
        model = torch.export.load(file)
        for node in model.graph.nodes:
            node.meta.setdefault("source_fn_stack", [(node.name, node.target)])
        target = NeutronTargetSpec("imxrt700")
        scheme = calibrate_and_quantize(model, inputs, NeutronQuantizer(target))
        in_converter.clear()
        start = time.process_time()
        manager = to_edge_transform_and_lower(
            torch.export.export(scheme, inputs[0], strict=True),
            transform_passes=NeutronEdgePassManager(),
            partitioner=[
                NeutronPartitioner(
                    generate_neutron_compile_spec("imxrt700"), target, post_quantization_state_dict=scheme.state_dict()
                )
            ],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        seconds = time.process_time() - start - sum(in_converter)
        outside.write(manager, seconds, file.with_suffix(".lowered.json"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
