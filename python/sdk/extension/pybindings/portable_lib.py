# SPDX-License-Identifier: BSD-3-Clause
"""The runtime with the portable operators.

    module = _load_for_executorch("model.pte")
    outputs = module.forward([x, y])

Inputs are numpy arrays, torch tensors (on the CPU), int, float, bool, str or None. Dense tensors are used in place.
Outputs are torch tensors if an input is a torch tensor, and numpy arrays if an input is a numpy array. Without tensor
inputs, they are torch tensors if the process has imported torch, which this module never imports. numpy has no
bfloat16: such outputs have the dtype of `ml_dtypes` if that is installed, else float32.

Outputs are copies. With `clone_outputs=False`, they are views of the runtime's memory, which are valid until the method
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
        _get_instruction_sets,
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
    "_get_backend_option",
    "_get_instruction_sets",
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
    "_set_backend_option",
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


def _set_backend_option(backend_name: str, key: str, value: bool | int | str) -> None:
    """Sets an option of a backend. Raises ExecuTorchError if the backend does not exist or refuses the value, and
    ValueError if the key or a text is too long."""
    _portable_lib._set_backend_option(backend_name, key, value)


def _get_backend_option(backend_name: str, key: str) -> bool | int | str | None:
    """The value of an option of a backend; None for an unknown option or backend."""
    return _portable_lib._get_backend_option(backend_name, key)


def _threadpool_get_thread_count() -> int:
    """The number of threads for kernels and backends, including the caller's. The default is the number of fast
    cores."""
    return _portable_lib._threadpool_get_thread_count()


def _unsafe_reset_threadpool(num_threads: int) -> None:
    """Sets the number of threads; 0 means the number of cores. Unsafe: no method may run during the call.

    Raises ValueError for a number that is not from 0 to 1024, and NotImplementedError for more than one in a build
    without threads.
    """
    _portable_lib._unsafe_reset_threadpool(num_threads)
