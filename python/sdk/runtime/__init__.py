# SPDX-License-Identifier: BSD-3-Clause
"""Run `.pte` programs from Python.

    from sdk.runtime import Runtime

    program = Runtime.get().load_program("model.pte")
    outputs = program.load_method("forward").execute([x])

Inputs are numpy arrays, torch tensors (on the CPU), int, float, bool, str or None, flattened. Dense tensors are used in
place, without a copy. Outputs are a flattened list: torch tensors if an input is a torch tensor, and numpy arrays if an
input is a numpy array. Without tensor inputs, they are torch tensors if the process has imported torch, which this
module never imports.

A program for a device that is not here runs in the reference of its backend, where there is one:
`load_program("model.pte", reference=NAME)`, with the name of the backend. A warning says so.

Errors of the runtime raise `ExecuTorchError`, a RuntimeError, whose message says what was expected and what was found.
A value that no method accepts raises TypeError.
"""

from __future__ import annotations

from sdk.extension.pybindings.portable_lib import ExecuTorchError, MethodMeta, TensorInfo, Verification
from sdk.runtime._program import Method, Program
from sdk.runtime._reference import ReferenceProgram, ReferenceWarning
from sdk.runtime._runtime import BackendRegistry, OperatorRegistry, Runtime

__all__ = [
    "BackendRegistry",
    "ExecuTorchError",
    "Method",
    "MethodMeta",
    "OperatorRegistry",
    "Program",
    "ReferenceProgram",
    "ReferenceWarning",
    "Runtime",
    "TensorInfo",
    "Verification",
]
