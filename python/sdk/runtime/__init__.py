# SPDX-License-Identifier: BSD-3-Clause
"""Run `.pte` programs from Python.

    from sdk.runtime import Runtime

    program = Runtime.get().load_program("model.pte")
    outputs = program.load_method("forward").execute([x])

Inputs are numpy arrays, torch tensors (on the CPU), int, float, bool, str or None, flattened; dense tensors are used in
place, without a copy. Outputs are a list, flattened as well: torch tensors if an input is one, numpy arrays if an input
is one, and without any tensor input torch tensors if the process has imported torch. torch is never imported from here.

What the runtime refuses raises `ExecuTorchError`, a RuntimeError, whose text says what was expected and what was found;
a value that no method takes raises TypeError.
"""

from __future__ import annotations

from sdk.extension.pybindings.portable_lib import ExecuTorchError, MethodMeta, TensorInfo, Verification
from sdk.runtime._program import Method, Program
from sdk.runtime._runtime import BackendRegistry, OperatorRegistry, Runtime

__all__ = [
    "BackendRegistry",
    "ExecuTorchError",
    "Method",
    "MethodMeta",
    "OperatorRegistry",
    "Program",
    "Runtime",
    "TensorInfo",
    "Verification",
]
