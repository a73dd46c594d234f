# SPDX-License-Identifier: BSD-3-Clause
"""The runtime with the portable operators.

    module = _load_for_executorch("model.pte")
    outputs = module.forward([x, y])

Inputs are numpy arrays, torch tensors (on the CPU), int, float, bool, str or None. Dense tensors are used in place.
Outputs are torch tensors if an input is one, numpy arrays if an input is one, and without any tensor input torch
tensors if the process has imported torch. torch itself is never imported from here. numpy has no bfloat16: such outputs
have the dtype of `ml_dtypes` where that is installed, and float32 otherwise.

Outputs are copies. With `clone_outputs=False` they are views into the runtime's memory, which hold until the method
runs again.
"""

from __future__ import annotations

try:
    import sdk.extension.pybindings._portable_lib as _portable_lib
    from sdk.extension.pybindings._portable_lib import (
        BundledModule,
        ExecuTorchError,
        ExecuTorchMethod,
        ExecuTorchModule,
        ExecuTorchProgram,
        MethodMeta,
        PyDataLoader,
        TensorInfo,
        UnsupportedInputError,
        Verification,
        _get_operator_names,
        _get_registered_backend_names,
        _is_available,
        _load_bundled_program_from_buffer,
        _load_for_executorch,
        _load_for_executorch_from_buffer,
        _load_for_executorch_from_bundled_program,
        _load_for_executorch_from_data_loader,
        _load_program,
        _load_program_from_buffer,
    )
except ModuleNotFoundError as error:
    if error.name != "sdk.extension.pybindings._portable_lib":
        raise
    raise ImportError(
        "the runtime's extension module sdk.extension.pybindings._portable_lib is not built for this Python. "
        "Install the package with `pip install .` from the root of its sources."
    ) from error

__all__ = [
    "BundledModule",
    "ExecuTorchError",
    "ExecuTorchMethod",
    "ExecuTorchModule",
    "ExecuTorchProgram",
    "MethodMeta",
    "PyDataLoader",
    "TensorInfo",
    "UnsupportedInputError",
    "Verification",
    "_create_profile_block",
    "_dump_profile_results",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_bundled_program_from_buffer",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_for_executorch_from_bundled_program",
    "_load_for_executorch_from_data_loader",
    "_load_program",
    "_load_program_from_buffer",
    "_reset_profile_results",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]


def _create_profile_block(name: str) -> None:
    """Does nothing: the profiler is not compiled in."""


def _dump_profile_results() -> bytes:
    """Always empty: the profiler is not compiled in."""
    return b""


def _reset_profile_results() -> None:
    """Does nothing: the profiler is not compiled in."""


def _threadpool_get_thread_count() -> int:
    """Threads that kernels and backends run on, the caller's included: at first one for each fast core."""
    return _portable_lib._threadpool_get_thread_count()


def _unsafe_reset_threadpool(num_threads: int) -> None:
    """Sets the number of threads; 0 is one for each core. Unsafe: nothing may run while it is called.

    Raises ValueError for a number that is not from 0 to 1024, and NotImplementedError for more than one in a build
    without threads.
    """
    _portable_lib._unsafe_reset_threadpool(num_threads)
