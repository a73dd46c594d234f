# SPDX-License-Identifier: BSD-3-Clause
"""A loaded program and its methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sdk.extension.pybindings.portable_lib import ExecuTorchMethod, ExecuTorchProgram, MethodMeta


class Method:
    """A method of a program that is ready to run, with its own memory and state.

    Several threads may call it. The calls run in sequence and release the interpreter lock.
    """

    def __init__(self, method: ExecuTorchMethod) -> None:
        self._method = method

    def execute(self, inputs: Sequence[Any], *, clone_outputs: bool = True) -> Sequence[Any]:
        """Runs the method and returns its outputs.

        Args:
            inputs: The method's inputs, flattened (see the module's documentation for their types).
            clone_outputs: Return copies. If false, tensors are views that are valid until the method runs again.

        Raises:
            ExecuTorchError: An input has a wrong type, shape or dtype, their number is wrong, or a kernel failed.
            TypeError: An input is of a type that no method takes.
        """
        return self._method.call(inputs, clone_outputs)

    @property
    def metadata(self) -> MethodMeta:
        """The method's inputs, outputs and named buffers."""
        return self._method.method_meta()


class Program:
    """A loaded program: its methods and their metadata."""

    def __init__(self, program: ExecuTorchProgram, data: bytes | None) -> None:
        self._program = program
        self._data = data
        self._methods: dict[str, Method] = {}
        self._method_names = {program.get_method_name(index) for index in range(program.num_methods())}

    @property
    def method_names(self) -> set[str]:
        """Names of all methods."""
        return set(self._method_names)

    def load_method(self, name: str) -> Method:
        """Loads a method. Returns the same object for the same name.

        Raises:
            KeyError: The program has no method of that name; the message lists the methods.
            ExecuTorchError: Operators or backends that it needs are missing, or memory is exhausted.
        """
        self._check_name(name)
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = Method(self._program.load_method(name))
        return method

    def metadata(self, method_name: str) -> MethodMeta:
        """The metadata of a method, without loading it. Raises KeyError as `load_method` does."""
        self._check_name(method_name)
        return self._program.method_meta(method_name)

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str | None = None) -> None:
        """Writes what was recorded since it was last called, for `sdk.devtools.Inspector`.

        In long runs, call it regularly: until then the memory for events grows, up to 1 GiB.

        Args:
            etdump_path: The ETDump (`.etdp`).
            debug_buffer_path: The file for the tensors, if the program was loaded with a `debug_buffer_size`. If that
                size was too small for all tensors, a RuntimeWarning says how large it must be.

        Raises:
            RuntimeError: The program was loaded without `enable_etdump=True`, or nothing has run.
            OSError: A file cannot be written; it is then unchanged.
        """
        self._program.write_etdump_result_to_file(
            os.fspath(etdump_path), debug_buffer_path and os.fspath(debug_buffer_path)
        )

    def _check_name(self, name: str) -> None:
        if name not in self._method_names:
            names = ", ".join(repr(known) for known in sorted(self._method_names))
            raise KeyError(f"the program has no method {name!r}, it has {names}")
