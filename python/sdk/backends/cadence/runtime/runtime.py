# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program that `export_example` wrote with `cadence_runner`, and compares its results."""

from __future__ import annotations

import logging
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from sdk.backends.cadence.aot.utils import NumericalMismatchError
from sdk.backends.cadence.runtime import utils
from sdk.backends.cadence.runtime.etdump import CadenceETDump
from sdk.backends.cadence.runtime.executor import Executor
from sdk.exir import ExecutorchProgramManager
from sdk.exir.schema import Program

_logger = logging.getLogger(__name__)


def get_op_names(program: Program, execution_plan_id: int = 0) -> set[str]:
    """Returns the names of a program's operators, such as `cadence::quantized_linear.per_tensor_out`."""
    return {f"{op.name}.{op.overload}" for op in program.execution_plan[execution_plan_id].operators}


def run(
    executorch_prog: ExecutorchProgramManager,
    inputs: Any,
    ref_outputs: Sequence[torch.Tensor] | None = None,
    working_dir: str | None = None,
    file_name: str = "CadenceDemoModel",
    force_rebuild: bool = False,
) -> Any:
    """Runs FILE_NAME.bpte of the folder, and returns its results in the same containers as the model.

    The inputs come from the bundled program: `inputs` and `ref_outputs` are ignored.
    """
    if working_dir is None:
        raise ValueError(f"working_dir: expected the folder with {file_name}.bpte, found None; export_model writes it")
    out_spec = executorch_prog.exported_program().call_spec.out_spec
    Executor(working_dir, file_name=file_name, force_rebuild=force_rebuild)()
    etdump = CadenceETDump(output_dir=working_dir)
    etdump.print_summary()
    return pytree.tree_unflatten(etdump.get_outputs(), out_spec)


def compare(outputs: Any, ref_outputs: Any, name: str = "", eps_error: float = 1e-1, eps_warn: float = 1e-5) -> None:
    """Raises NumericalMismatchError if the root of the mean squared difference of a tensor and its reference exceeds
    `eps_error`, and logs a warning above `eps_warn`."""
    if isinstance(ref_outputs, (dict, list, tuple)):
        pairs = ref_outputs.items() if isinstance(ref_outputs, dict) else enumerate(ref_outputs)
        if len(outputs) != len(ref_outputs):
            raise NumericalMismatchError(f"output {name}: expected {len(ref_outputs)} results, found {len(outputs)}")
        for key, reference in pairs:
            compare(outputs[key], reference, f"{name}/{key}", eps_error, eps_warn)
        return
    found, wanted = to_nd_array(outputs), to_nd_array(ref_outputs)
    difference = utils.rms(found, wanted)
    what = (
        f"output {name or 0}: {difference:g} (root mean square), {utils.normalized_rms(found, wanted):g} of the norm; "
        f"at most {utils.max_abs_diff(found, wanted):g}; shapes {found.shape} and {wanted.shape}"
    )
    if np.isnan(difference) or difference > eps_error:
        raise NumericalMismatchError(f"expected a difference of at most {eps_error}, found {what}", difference)
    _logger.log(logging.WARNING if difference > eps_warn else logging.INFO, "Difference of %s", what)


def run_and_compare(
    executorch_prog: ExecutorchProgramManager,
    inputs: Any,
    ref_outputs: Sequence[torch.Tensor] | None = None,
    working_dir: str | None = None,
    eps_error: float = 1e-1,
    eps_warn: float = 1e-5,
    file_name: str = "CadenceDemoModel",
    force_rebuild: bool = False,
) -> None:
    """Calls `run`, and compares the results with `ref_outputs`."""
    outputs = run(executorch_prog, inputs, ref_outputs, working_dir, file_name, force_rebuild)
    compare(outputs, ref_outputs, eps_error=eps_error, eps_warn=eps_warn)


def to_nd_array(v: bool | numbers.Number | np.ndarray | torch.Tensor) -> np.ndarray:
    """Returns a result as an array. A quantised tensor becomes the array of its integers."""
    if isinstance(v, torch.Tensor):
        return (v.int_repr() if v.is_quantized else v).detach().cpu().numpy()
    if isinstance(v, np.ndarray):
        return v
    if isinstance(v, (bool, numbers.Number)):
        return np.array([v])
    raise RuntimeError(f"expected a tensor, an array or a number, found {type(v).__name__}")
