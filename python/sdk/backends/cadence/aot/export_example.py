# SPDX-License-Identifier: BSD-3-Clause
"""Shared steps of the examples: quantise a model, calibrate it with its example inputs, lower it, and write it as a
program and as a bundled program with inputs and expected results."""

from __future__ import annotations

import copy
import logging
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from sdk.backends.cadence.aot.compiler import (
    _lower_ep_to_cadence_gen_etrecord,
    apply_pre_edge_transform_passes,
    get_fake_quant_model,
)
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer, CadenceQuantizer
from sdk.backends.cadence.aot.utils import save_bpte_program, save_pte_program
from sdk.backends.cadence.runtime import BundledProgramManager, BundledProgramTestData, runtime
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
    expected = copy.deepcopy(fake)(*example_inputs)  # a call may change the initial state of the program
    fused = apply_pre_edge_transform_passes(torch.export.export(fake, example_inputs, strict=True), quantizer)
    program = _lower_ep_to_cadence_gen_etrecord(fused, output_dir=folder, library=library)
    save_programs(program, example_inputs, expected, folder, file_name)
    _logger.info("Wrote %s", Path(folder) / f"{file_name}.pte")
    return program


def save_programs(
    program: ExecutorchProgramManager, inputs: tuple[Any, ...], expected: Any, folder: str, file_name: str = _NAME
) -> None:
    """Writes FILE_NAME.pte, and FILE_NAME.bpte with the inputs and the expected results of one call."""
    save_pte_program(program, file_name, folder)
    data = BundledProgramTestData(method="forward", inputs=inputs, expected_outputs=expected)
    manager = BundledProgramManager([data])
    save_bpte_program(manager._serialize(program, manager.get_method_test_suites()), file_name, folder)


def export_and_run_model(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    file_name: str = _NAME,
    eps_error: float = 1e-1,
    eps_warn: float = 1e-5,
    force_rebuild: bool = False,
    working_dir: str | None = None,
    library: str | None = None,
) -> None:
    """Exports a model, runs the program on this machine's kernels, and compares the results with the model's.

    Raises NumericalMismatchError if the root mean square error exceeds `eps_error`. With `force_rebuild`,
    `cadence_runner` is built and runs the program; without, Python's runtime does.
    """
    from sdk.runtime import Runtime

    folder = tempfile.mkdtemp(prefix="cadence-") if working_dir is None else working_dir
    program = export_model(model, example_inputs, file_name, folder, library=library)
    with torch.no_grad():
        expected = copy.deepcopy(model)(*example_inputs)
    if force_rebuild:
        runtime.run_and_compare(
            program,
            example_inputs,
            expected,
            folder,
            file_name=file_name,
            force_rebuild=True,
            eps_error=eps_error,
            eps_warn=eps_warn,
        )
        return
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute(list(example_inputs))
    runtime.compare(found, list(pytree.tree_leaves(expected)), eps_error=eps_error, eps_warn=eps_warn)
