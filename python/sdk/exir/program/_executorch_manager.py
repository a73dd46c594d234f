# SPDX-License-Identifier: BSD-3-Clause
"""`ExecutorchProgramManager`: programs in the form that runs, and their bytes."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from torch.export import ExportedProgram

from sdk.exir.capture._config import ExecutorchBackendConfig
from sdk.exir.program._methods import find_method

if TYPE_CHECKING:
    from sdk.devtools.etrecord import ETRecord
    from sdk.exir.receipt import Receipt


class ExecutorchProgramManager:
    """Programs in the form that runs, emitted and serialised when the manager is constructed."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        config_methods: dict[str, Any] | None = None,
        backend_config: ExecutorchBackendConfig | None = None,
        named_data: Any | None = None,
    ) -> None:
        from sdk.exir._serialize._serialize import serialize_for_executorch
        from sdk.exir.emit import emit_program
        from sdk.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer

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
        """The program of a method, as it was emitted."""
        return find_method(self._execution_programs, method_name)

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Prints the program: its instructions and values, or everything that the file contains if `verbose`."""
        from sdk.exir.print_program import pretty_print, print_program

        if verbose:
            pretty_print(self.executorch_program, out=out)
        else:
            print_program(self.executorch_program, out=out)

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int | list[int]]]:
        """For every method, instruction number to debug handle."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """For every method, instruction number to what the delegate that it calls says of itself."""
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """For every method, instruction number to number of results."""
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
            _write_atomically(directory / (name if name.endswith(".ptd") else f"{name}.ptd"), data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the `.pte` to `path`, and external constants beside it; all of each file or nothing."""
        target = Path(path)
        if target.suffix != ".pte":
            raise ValueError(f"the path of a program must end in .pte, got {os.fspath(path)!r}")
        self._warn_of_missing_kernels()
        if self._tensor_data:
            self.write_tensor_data_to_file(target.parent)
        _write_atomically(target, self._pte_data)

    def get_receipt(self, captured: Mapping[str, ExportedProgram] | None = None) -> Receipt:
        """Every node, where it runs and why not elsewhere, and what would be lost silently.

        With `captured`, the programs that torch.export gave, by method name, dtypes are compared too.
        """
        from sdk.exir.receipt import receipt_of

        return receipt_of(self, captured)

    def _warn_of_missing_kernels(self) -> None:
        """A program that this package's runtime refuses to load is never written without a warning."""
        if self._kernels_checked:
            return
        self._kernels_checked = True
        from sdk.exir.receipt import MissingKernelWarning, missing_kernels

        missing = ", ".join(sorted({name for _, name in missing_kernels(self.executorch_program)}))
        if missing:
            warnings.warn(
                f"The runtime has no kernel of {missing} and will refuse to load this program. Load the library that "
                f"has them before you export, or ignore this MissingKernelWarning where the program runs with kernels "
                f"of your own.",
                MissingKernelWarning,
                stacklevel=3,
            )


def _write_atomically(path: Path, data: Any) -> None:
    """Writes under a temporary name and renames: `path` holds a complete file, or what it held before."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            data.write_to_file(file)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
