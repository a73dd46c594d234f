# SPDX-License-Identifier: BSD-3-Clause
"""Exports a model for NXP's Neutron: MODEL_nxp_delegate.pte, or MODEL.pte without --delegate.

    aot_neutron_compile.py -m cifar10 --quantize --delegate

Both models have random weights and are calibrated with random inputs; for your own models, `python -m sdk.export
--backend neutron --quantize int8` does the same.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch
from torch.export import export

from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.nxp.backend.neutron_target_spec import TARGETS, NeutronTargetSpec
from sdk.backends.nxp.neutron_partitioner import NeutronPartitioner
from sdk.backends.nxp.nxp_backend import generate_neutron_compile_spec
from sdk.backends.nxp.quantizer.neutron_quantizer import NeutronQuantizer
from sdk.backends.nxp.quantizer.utils import calibrate_and_quantize
from sdk.exir import to_edge, to_edge_transform_and_lower

HERE = Path(__file__).resolve().parent


def load(file: Path) -> Any:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model_of(name: str) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A model and its example inputs."""
    if name == "cifar10":
        made: tuple[torch.nn.Module, tuple[torch.Tensor, ...]] = load(HERE / "cifar_net.py").cifar_net()
        return made
    return load(HERE.parent / "mobilenet_v2" / "model.py").mobilenet_v2(), (torch.randn(1, 3, 224, 224),)


def draw(
    model: torch.nn.Module, inputs: tuple[Any, ...], partitioner: NeutronPartitioner, options: argparse.Namespace
) -> None:
    """Shows which nodes are in which partition, or writes it to MODEL_partitions.json."""
    from sdk.devtools.visualization.visualization_utils import visualize_with_clusters

    program = to_edge(export(model, inputs)).exported_program()
    tagged = partitioner.partition(program).tagged_exported_program
    file = options.output_dir / f"{options.model_name}_partitions.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    visualize_with_clusters(tagged, str(file) if options.visualize == "store" else None)


def main() -> int:
    """Returns 0, or 1 after printing a line that says what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model_name", required=True, choices=["cifar10", "mobilenetv2"])
    parser.add_argument("-q", "--quantize", action="store_true", help="quantise to int8, which --delegate needs")
    parser.add_argument("-d", "--delegate", action="store_true", help="delegate to the NPU")
    parser.add_argument("-t", "--target", default=TARGETS[0], help="default: %(default)s")
    parser.add_argument("--neutron_converter_flavor", help="an option of earlier releases, without effect")
    parser.add_argument(
        "--operators_not_to_delegate", default="", help="parts of operators' names, separated by commas"
    )
    parser.add_argument("-o", "--output_dir", default=".", type=Path)
    parser.add_argument(
        "--visualize", choices=["show", "store"], help="show the partitions in Model Explorer, or store them"
    )
    options = parser.parse_args()
    model, inputs = model_of(options.model_name)
    try:
        specs = generate_neutron_compile_spec(
            options.target,
            operators_not_to_delegate=[each for each in options.operators_not_to_delegate.split(",") if each],
            neutron_converter_flavor=options.neutron_converter_flavor,
        )
        if options.quantize:
            quantizer = NeutronQuantizer(NeutronTargetSpec(options.target))
            model = calibrate_and_quantize(export(model, inputs), [inputs], quantizer)
        if options.visualize is not None:
            draw(model, inputs, NeutronPartitioner(specs), options)
        partitioner = [NeutronPartitioner(specs)] if options.delegate else []
        program = to_edge_transform_and_lower(export(model, inputs), partitioner=partitioner).to_executorch()
    except (CompilerNotInstalledError, ImportError, ValueError) as error:
        print(f"aot_neutron_compile.py: {error}", file=sys.stderr)
        return 1
    options.output_dir.mkdir(parents=True, exist_ok=True)
    file = options.output_dir / f"{options.model_name}{'_nxp_delegate' if options.delegate else ''}.pte"
    file.write_bytes(program.buffer)
    print(f"wrote {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
