# SPDX-License-Identifier: BSD-3-Clause
"""The runtime of this process: which operators and backends are linked, and how programs are loaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from sdk.exir._serialize._regular_file import read_file
from sdk.extension.pybindings import portable_lib
from sdk.extension.pybindings.portable_lib import ExecuTorchError, Verification
from sdk.runtime._program import Program
from sdk.runtime._reference import ReferenceProgram


class BackendRegistry:
    """The backends that are linked into the runtime."""

    def __init__(self, legacy_module: ModuleType) -> None:
        self._legacy_module = legacy_module

    @property
    def registered_backend_names(self) -> list[str]:
        """Names of the backends, as programs call them."""
        return list(self._legacy_module._get_registered_backend_names())

    def is_available(self, backend_name: str) -> bool:
        """Whether a backend is linked and can run on this machine."""
        return bool(self._legacy_module._is_available(backend_name))

    def set_option(self, backend_name: str, key: str, value: bool | int | str) -> None:
        """Sets an option of a backend; the page of the backend lists them. Backends ignore options that they do not
        have.

        Raises:
            ExecuTorchError: The backend does not exist, or refuses the value, now or in general.
            ValueError: The key has more than 63 bytes, or a text more than 255.
        """
        self._legacy_module._set_backend_option(backend_name, key, value)

    def get_option(self, backend_name: str, key: str) -> bool | int | str | None:
        """The value of an option of a backend; None if the backend or the option does not exist."""
        found: bool | int | str | None = self._legacy_module._get_backend_option(backend_name, key)
        return found


class OperatorRegistry:
    """The operators whose kernels are linked into the runtime."""

    def __init__(self, legacy_module: ModuleType) -> None:
        self._legacy_module = legacy_module

    @property
    def operator_names(self) -> set[str]:
        """Names of the operators, as programs call them: `aten::add.out`."""
        return set(self._legacy_module._get_operator_names())


class Runtime:
    """The one runtime of this process; `Runtime.get()` returns it.

    Attributes:
        backend_registry: The backends that are linked in.
        operator_registry: The operators that are linked in.
    """

    _instance: Runtime | None = None

    @staticmethod
    def get() -> Runtime:
        """The runtime; the same object every time."""
        if Runtime._instance is None:
            Runtime._instance = Runtime(legacy_module=portable_lib)
        return Runtime._instance

    def __init__(self, *, legacy_module: ModuleType) -> None:
        """Use `Runtime.get()`."""
        self._legacy_module = legacy_module
        self.backend_registry = BackendRegistry(legacy_module)
        self.operator_registry = OperatorRegistry(legacy_module)

    def load_program(
        self,
        data: bytes | bytearray | BinaryIO | Path | str,
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_map: bytes | bytearray | BinaryIO | Path | str | Sequence[bytes | BinaryIO | Path | str] | None = None,
        instruction_limit: int | None = None,
        reference: str | None = None,
    ) -> Program:
        """Loads and verifies a program.

        Args:
            data: The `.pte`: a path (the file is mapped: do not change it while the program is in use), its bytes, or
                an open binary file.
            verification: How thoroughly to check the program.
            enable_etdump: Record when instructions begin and end, for `Program.write_etdump_result_to_file`. The
                methods of the program then run one at a time.
            debug_buffer_size: Bytes for the tensors that instructions and methods compute; 0 records none. Requires
                `enable_etdump`.
            data_map: The `.ptd` with the program's external data, if it has any; of the same kinds as `data`.
                Several, in a list or tuple, may not repeat a key.
            instruction_limit: How many instructions one call may run before it fails with OutOfResources, so that
                a loop without an end ends; 2^26 by default.
            reference: The name of a backend whose reference computes the program in the place of the backend's device,
                in lower case. A `ReferenceWarning` describes the reference; the result is a `ReferenceProgram`, which
                takes no `data_map` and records nothing.

        Raises:
            ExecuTorchError: The file cannot be read, or is not a sound program, or two data files have the same key.
            NotImplementedError: `enable_etdump` in a build without an event tracer; the package has one.
            TypeError: `data` or `data_map` is of another type.
            ValueError: The backend has no reference, its reference does not run the program, or `reference` is given
                together with `enable_etdump` or a `data_map`.
        """
        program = _as_source(data, "data")
        several = isinstance(data_map, (list, tuple))
        files: Any = data_map if several else [] if data_map is None else [data_map]
        weights = [_as_source(file, "data_map") for file in files]
        options = (enable_etdump, debug_buffer_size, verification)
        if isinstance(program, str) and all(isinstance(source, str) for source in weights):
            loaded = self._legacy_module._load_program(program, *options, weights, instruction_limit)
        else:
            buffers = [_as_bytes(source) for source in weights]
            loaded = self._legacy_module._load_program_from_buffer(
                _as_bytes(program), *options, buffers, instruction_limit
            )
        if reference is not None:
            if enable_etdump or weights:
                raise ValueError("a reference records no events and reads no data_map; leave these options out")
            return ReferenceProgram(loaded, program, reference)
        return Program(loaded, program if isinstance(program, bytes) else None)


def _as_source(data: bytes | bytearray | BinaryIO | Path | str, name: str) -> str | bytes:
    """A path as str, or the bytes themselves."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if hasattr(data, "read"):
        content = data.read()
        if isinstance(content, (bytes, bytearray)):
            return bytes(content)
        raise TypeError(f"{name}: expected a file opened in binary mode, found one that reads {type(content).__name__}")
    raise TypeError(f"{name}: expected a path, bytes or a binary file, found {type(data).__name__}")


def _as_bytes(source: str | bytes) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        return read_file(source)
    except OSError as error:
        # As for files that the runtime opens itself.
        line = f"{source}: cannot be opened: {error.strerror or error}"
        failed = ExecuTorchError(f"The file cannot be loaded: {line} [AccessFailed]")
        failed.error, failed.code, failed.log = "AccessFailed", 0x22, (line,)
        raise failed from error
