# SPDX-License-Identifier: BSD-3-Clause
"""Shared steps of the examples: quantise a model, calibrate it with its example inputs, lower it, and write it as a
program and as a bundled program with inputs and expected results."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import torch

from sdk.backends.cadence.aot.compiler import (
    _lower_ep_to_cadence_gen_etrecord,
    apply_pre_edge_transform_passes,
    get_fake_quant_model,
)
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer, CadenceQuantizer
from sdk.backends.cadence.aot.utils import NumericalMismatchError, save_bpte_program, save_pte_program
from sdk.devtools import BundledProgram
from sdk.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from sdk.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from sdk.exir import ExecutorchProgramManager

_logger = logging.getLogger(__name__)
_NAME = "CadenceDemoModel"


def export_model(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    file_name: str = _NAME,
    working_dir: str | None = None,
    quantizer: CadenceQuantizer | None = None,
    library: str | None = None,
) -> ExecutorchProgramManager:
    """Writes FILE_NAME.pte, FILE_NAME.bpte and etrecord.bin to a folder, by default a new one. With a library, raises
    MissingKernelError if it lacks a kernel (`kernel_libraries`)."""
    folder = tempfile.mkdtemp(prefix="cadence-") if working_dir is None else working_dir
    quantizer = CadenceDefaultQuantizer() if quantizer is None else quantizer
    fake = get_fake_quant_model(model, example_inputs, quantizer)
    expected = fake(*example_inputs)
    fused = apply_pre_edge_transform_passes(torch.export.export(fake, example_inputs, strict=True), quantizer)
    program = _lower_ep_to_cadence_gen_etrecord(fused, output_dir=folder, library=library)
    save_pte_program(program, file_name, folder)
    outputs = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    suite = MethodTestSuite("forward", [MethodTestCase(inputs=list(example_inputs), expected_outputs=outputs)])
    bundle = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [suite]))
    save_bpte_program(bundle, file_name, folder)
    _logger.info("Wrote %s", Path(folder) / f"{file_name}.pte")
    return program


def export_and_run_model(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    file_name: str = _NAME,
    eps_error: float = 1e-1,
    eps_warn: float = 1e-5,
    working_dir: str | None = None,
    library: str | None = None,
) -> None:
    """Exports a model, runs the program on this machine's kernels, and compares the results with the model's. Raises
    NumericalMismatchError if the root of the mean squared difference exceeds `eps_error`."""
    from sdk.runtime import Runtime

    program = export_model(model, example_inputs, file_name, working_dir, library=library)
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute(list(example_inputs))
    with torch.no_grad():
        expected = model(*example_inputs)
    for at, (result, wanted) in enumerate(
        zip(found, expected if isinstance(expected, (list, tuple)) else [expected], strict=True)
    ):
        difference = (result.double() - wanted.double()).pow(2).mean().sqrt().item()
        if difference > eps_error:
            raise NumericalMismatchError(
                f"output {at}: expected a root mean squared difference of at most {eps_error}, found {difference}",
                difference,
            )
        if difference > eps_warn:
            _logger.warning("output %d differs by %g (root mean square)", at, difference)
