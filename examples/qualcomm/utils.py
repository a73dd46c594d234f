# SPDX-License-Identifier: BSD-3-Clause
"""The arguments and the export of all scripts for Qualcomm."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from sdk.backends.npu.compiler import CompilerNotInstalledError
from sdk.backends.qualcomm.quantizer.quantizer import QnnQuantizer, QuantDtype
from sdk.backends.qualcomm.utils.utils import (
    generate_htp_compiler_spec,
    generate_qnn_executorch_compiler_spec,
    get_soc_to_chipset_map,
    to_edge_transform_and_lower_to_qnn,
)


def setup_common_args_and_variables(description: str | None = None) -> argparse.ArgumentParser:
    """The arguments that all scripts have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True, help="the chip, for example SM8550")
    parser.add_argument("-b", "--build_folder", default="build-android", help="where the runner is built")
    parser.add_argument("-s", "--device", help="the serial number of the device; adb devices lists them")
    parser.add_argument("-t", "--target", default="aarch64-android", help="the folder of the SDK's libraries")
    parser.add_argument("-a", "--artifact", type=Path, help="the folder that is written")
    parser.add_argument("--compile_only", action="store_true", help="do not run on a device")
    parser.add_argument("--pre_gen_pte", type=Path, help="the folder with an earlier program")
    return parser


def make_quantizer(quant_dtype: QuantDtype = QuantDtype.use_8a8w, is_per_channel: bool = True) -> QnnQuantizer:
    """A quantizer whose layers have a scale for each output channel."""
    quantizer = QnnQuantizer()
    quantizer.set_default_quant_config(
        quant_dtype, is_conv_per_channel=is_per_channel, is_linear_per_channel=is_per_channel
    )
    return quantizer


def build_executorch_binary(
    model: torch.nn.Module,
    inputs: tuple[Any, ...],
    soc_model: str,
    file: Path,
    dataset: Iterable[tuple[Any, ...]],
    quant_dtype: QuantDtype | None = None,
) -> None:
    """Writes a program.

    Args:
        model: The model, in evaluation mode.
        inputs: Its example inputs.
        soc_model: The name of the chip.
        file: The file to write.
        dataset: Inputs that calibrate the ranges of activations.
        quant_dtype: The scheme; None for float16.

    Raises ValueError for an unknown chip.
    """
    chips = get_soc_to_chipset_map()
    if soc_model not in chips:
        raise ValueError(f"there is no chip {soc_model!r} of Qualcomm; expected one of {', '.join(chips)}")
    module = model
    if quant_dtype is not None:
        captured = torch.export.export(model, inputs, strict=True).module()
        prepared = prepare_pt2e(captured, make_quantizer(quant_dtype))
        for given in dataset:
            prepared(*given)
        module = convert_pt2e(prepared)
    specs = generate_qnn_executorch_compiler_spec(
        chips[soc_model], generate_htp_compiler_spec(use_fp16=quant_dtype is None)
    )
    program = to_edge_transform_and_lower_to_qnn(module, inputs, specs).to_executorch()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(program.buffer)
    print(f"wrote {file}")


def run(options: argparse.Namespace, file: str, export: Callable[[Path], None]) -> int:
    """Exports, unless `--pre_gen_pte` names a folder with the file. Returns the status of the script: 0, or 1 after a
    line that says what is missing."""
    script = Path(sys.argv[0]).name
    folder = options.pre_gen_pte or options.artifact
    try:
        if options.pre_gen_pte is None:
            export(folder / file)
        elif not (folder / file).is_file():
            raise FileNotFoundError(f"--pre_gen_pte: there is no {folder / file}")
    except (CompilerNotInstalledError, ImportError, OSError, ValueError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 1
    if not options.compile_only:
        print(
            f"{script}: this script runs nothing on a device: docs/backends-qnn.md has the commands for "
            f"{folder / file}, or pass --compile_only",
            file=sys.stderr,
        )
        return 1
    return 0
