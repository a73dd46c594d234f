# SPDX-License-Identifier: BSD-3-Clause
"""The common code of the example commands."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from typing import Any

import torch

from sdk.backends.cadence.aot.export_example import export_and_run_model, export_model
from sdk.backends.cadence.aot.kernel_libraries import LIBRARIES

ModelAndInputs = Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]


def main(model_and_inputs: ModelAndInputs, run: bool = False) -> None:
    """Exports a model, and with `run` or --run runs the program and compares the results."""
    parser = argparse.ArgumentParser(description=model_and_inputs.__doc__)
    parser.add_argument("--output-dir", default=".", help="the folder for CadenceDemoModel.pte and the ETRecord")
    parser.add_argument("--run", action="store_true", default=run, help="run the program on this machine and compare")
    parser.add_argument("--library", choices=LIBRARIES, help="fail if this library of Cadence lacks a kernel")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    torch.manual_seed(0)
    model, inputs = model_and_inputs()
    export = export_and_run_model if arguments.run else export_model
    export(model.eval(), inputs, working_dir=arguments.output_dir, library=arguments.library)
