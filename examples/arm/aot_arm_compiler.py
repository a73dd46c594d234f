# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model for a backend of Arm, from the root of the repository:

    python -m examples.arm.aot_arm_compiler --model_name=add --delegate --quantize --output=add.pte --target=vgf

`--target` is an Ethos-U such as `ethos-u55-128`, which is the default, `vgf`, or `TOSA-1.0+FP` and the like for a
program whose delegates are TOSA files. With --intermediates, the TOSA file of each partition and the files made from it
are written to a folder. For your own models, `python -m sdk.export --backend ethos-u` and `--backend vgf` do the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from examples.mobilenet_v2.model import example_inputs, mobilenet_v2
from examples.portable.scripts.export import MODELS as SMALL_MODELS
from torch import Tensor, nn
from torch.export import ExportedProgram

from sdk.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from sdk.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner
from sdk.backends.arm.vgf import VgfCompileSpec, VgfPartitioner
from sdk.devtools.backend_debug import get_delegation_info
from sdk.exir import EdgeCompileConfig, to_edge_transform_and_lower
from sdk.extension.export_util.utils import save_pte_program


class Add(nn.Module):
    """The tutorials' model, which adds two tensors."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    **SMALL_MODELS,
    "add": lambda: (Add(), (torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1))),
    "mv2": lambda: (mobilenet_v2(), example_inputs()),
}


def compile_spec(target: str, system_config: str | None = None, memory_mode: str | None = None) -> Any:
    """The options for a target. Raises ValueError for an unsupported target or one without these settings."""
    if target.startswith("ethos-u"):
        return EthosUCompileSpec(target, system_config, memory_mode)
    if system_config or memory_mode:
        raise ValueError(f"--system_config and --memory_mode are for an Ethos-U, and the target is {target}")
    return VgfCompileSpec() if target == "vgf" else TosaCompileSpec(target)


def quantize(model: nn.Module, inputs: tuple[Tensor, ...], spec: Any) -> nn.Module:
    """int8 weights and activations, calibrated with the example inputs."""
    from torchao.quantization.pt2e.quantize_pt2e import (  # it takes longer to import than torch
        convert_pt2e,
        prepare_pt2e,
    )

    from sdk.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config

    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lower(captured: ExportedProgram, spec: Any, quantized: bool, delegated: bool) -> Any:
    """The program with the delegates of the backend."""
    partitioners = {EthosUCompileSpec: EthosUPartitioner, VgfCompileSpec: VgfPartitioner}
    partitioner = partitioners.get(type(spec), TOSAPartitioner)(spec)
    return to_edge_transform_and_lower(
        captured,
        partitioner=[partitioner] if delegated else None,
        compile_config=EdgeCompileConfig(_check_ir_validity=not quantized),
    )


def main(arguments: list[str] | None = None) -> int:
    """The command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="examples.arm.aot_arm_compiler", description="Lowers a model for Arm.")
    parser.add_argument("-m", "--model_name", required=True, choices=sorted(MODELS))
    parser.add_argument(
        *("-t", "--target"),
        default="ethos-u55-128",
        help="an Ethos-U, vgf, or a TOSA specification; default: ethos-u55-128",
    )
    parser.add_argument("--system_config", help="for an Ethos-U: the section of Vela's configuration with the clocks")
    parser.add_argument("--memory_mode", help="for an Ethos-U: Sram_Only, Shared_Sram or Dedicated_Sram")
    parser.add_argument(
        "-q", "--quantize", action="store_true", help="quantise to 8 bits, calibrated with the example inputs"
    )
    parser.add_argument(
        "-d", "--delegate", action="store_true", help="delegate the operators that the backend supports"
    )
    parser.add_argument("-i", "--intermediates", type=Path, help="a folder for TOSA files and the files made from them")
    parser.add_argument("-o", "--output", type=Path, help="default: MODEL_arm_TARGET.pte")
    options = parser.parse_args(arguments)
    try:
        spec = compile_spec(options.target, options.system_config, options.memory_mode)
        spec = spec.dump_intermediate_artifacts_to(options.intermediates)
        model, inputs = MODELS[options.model_name]()
        model = quantize(model.eval(), inputs, spec) if options.quantize else model.eval()
        edge = lower(torch.export.export(model, inputs), spec, options.quantize, options.delegate)
    except (RuntimeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(get_delegation_info(edge.exported_program().graph_module).get_summary(), end="")
    output = options.output or Path(f"{options.model_name}_arm_{options.target}.pte")
    print("Wrote", save_pte_program(edge.to_executorch(), output.name, str(output.parent)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
