# SPDX-License-Identifier: BSD-3-Clause
"""`ExecutorchProgramManager`: programs in the form that runs, and their bytes."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from torch.export import ExportedProgram

from sdk.exir._serialize._files import write_atomically
from sdk.exir._serialize._flat_tensor import FlatTensorConfig, FlatTensorSerializer
from sdk.exir._serialize._serialize import serialize_for_executorch
from sdk.exir.capture._config import ExecutorchBackendConfig
from sdk.exir.emit import emit_program
from sdk.exir.graph.methods import find_method
from sdk.exir.hooks import hook
from sdk.exir.print_program import pretty_print, print_program
from sdk.exir.record import ETRecord


class ExecutorchProgramManager:
    """Programs in the form that runs, emitted and serialised when the manager is constructed."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        config_methods: dict[str, Any] | None = None,
        backend_config: ExecutorchBackendConfig | None = None,
        named_data: Any | None = None,
    ) -> None:
        self._execution_programs = execution_programs
        self._config_methods = config_methods
        self._report: list[str] = []
        self._etrecord: ETRecord | None = None
        self._named_data = named_data
        config = backend_config or ExecutorchBackendConfig()
        self._emitter_output = emit_program(
            execution_programs, config.emit_stacktrace, config_methods, config.emit_mutable_buffer_names
        )
        self._data_serializer = FlatTensorSerializer(FlatTensorConfig(segment_alignment=config.segment_alignment))
        self._pte_data, self._tensor_data = serialize_for_executorch(
            self._emitter_output, config, self._data_serializer, named_data
        )
        self._buffer: bytes | None = None
        self._kernels_checked = False

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._execution_programs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the methods that return a constant."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the program of a method in the form that was emitted."""
        return find_method(self._execution_programs, method_name)

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Prints the program: its instructions and values, or everything that the file contains if `verbose`."""
        if verbose:
            pretty_print(self.executorch_program, out=out)
        else:
            print_program(self.executorch_program, out=out)

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int | list[int]]]:
        """For every method, a dict from instruction number to debug handle."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """For every method, a dict from instruction number to the debug information of the delegate that it calls."""
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """For every method, a dict from instruction number to number of results, of delegate calls and of kernels that
        have no debug handle."""
        return self._emitter_output.instruction_id_to_num_outs_map

    @property
    def executorch_program(self) -> Any:
        """The program as the schema's dataclasses."""
        return self._emitter_output.program

    @property
    def buffer(self) -> bytes:
        """The contents of the `.pte` file. Copied on first use: write large programs with `write_to_file` or `save`."""
        self._warn_of_missing_kernels()
        if self._buffer is None:
            self._buffer = bytes(self._pte_data)
        return self._buffer

    def get_etrecord(self) -> ETRecord:
        """The debugging record: the graphs that this program was made from and its debug maps. Raises RuntimeError
        unless `generate_etrecord=True` asked for it."""
        if self._etrecord is None:
            raise RuntimeError(
                "ETRecord was not generated: pass generate_etrecord=True to to_edge or to_edge_transform_and_lower"
            )
        return self._etrecord

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the `.pte` to a file that is open for writing in binary mode."""
        self._warn_of_missing_kernels()
        self._pte_data.write_to_file(open_file)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes the external constants, if there are any, as `<tag>.ptd` files to a directory."""
        directory = Path(outdir)
        directory.mkdir(parents=True, exist_ok=True)
        for name, data in self._tensor_data.items():
            write_atomically(directory / (name if name.endswith(".ptd") else f"{name}.ptd"), data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.pte` to `path`, and external constants beside it; each file is written completely or not at
        all."""
        target = Path(path)
        if target.suffix != ".pte":
            raise ValueError(f"the path of a program must end in .pte, got {os.fspath(path)!r}")
        self._warn_of_missing_kernels()
        if self._tensor_data:
            self.write_tensor_data_to_file(target.parent)
        write_atomically(target, self._pte_data)

    def get_receipt(self, captured: Mapping[str, ExportedProgram] | None = None) -> Any:
        """A `sdk.devtools.report.Receipt`: every node, where it runs and why not elsewhere, and the losses compared
        with the model.

        With `captured`, the programs that torch.export gave, by method name, dtypes are compared too.
        """
        receipt_of = hook("receipt_of")
        if receipt_of is None:
            raise RuntimeError("a receipt is made by sdk.devtools, which is not installed")
        return receipt_of(self, captured)

    def _warn_of_missing_kernels(self) -> None:
        """Called before the program is written: warns if the runtime of this package would refuse to load it."""
        if self._kernels_checked:
            return
        self._kernels_checked = True
        warn = hook("warn_of_missing_kernels")
        if warn is not None:
            warn(self.executorch_program)
