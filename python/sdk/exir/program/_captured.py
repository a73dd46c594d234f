# SPDX-License-Identifier: BSD-3-Clause
"""The older function `capture`, and the programs of a single method that it returns. They call `torch.export.export`
and `to_edge`, which new code uses directly.
"""

from __future__ import annotations

import dataclasses
import io
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule
from torch.utils._pytree import TreeSpec, tree_map

from sdk.exir.capture._config import CaptureConfig, EdgeCompileConfig, ExecutorchBackendConfig, PassType
from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.pass_manager import transform
from sdk.exir.program._executorch_manager import ExecutorchProgramManager
from sdk.exir.program._program import EdgeProgramManager, to_edge
from sdk.exir.schema import Program


class CallSpec(NamedTuple):
    """The structure of a program's inputs and of its outputs."""

    in_spec: TreeSpec | None
    out_spec: TreeSpec | None


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: Any) -> Any:
        return self._function(*args)


def capture(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    config: CaptureConfig | None = None,
    dynamic_shapes: Any = None,
) -> ExirExportedProgram:
    """`torch.export.export` of a module or function, called with `args`.

    With `config.enable_dynamic_shape` and without `dynamic_shapes`, every dimension that can be is dynamic. Raises
    `ExportError` for options of `CaptureConfig` that asked for tracers which PyTorch no longer has, and if `args` is
    not a tuple.
    """
    config = config or CaptureConfig()
    accepted = dataclasses.replace(
        CaptureConfig(), enable_dynamic_shape=config.enable_dynamic_shape, enable_aot=config.enable_aot
    )
    if config != accepted:
        raise ExportError(
            ExportErrorType.NOT_SUPPORTED,
            "CaptureConfig: expected pt2_mode=True, enable_functionalization=True and defaults for the options with an "
            f"underscore, the only way that torch.export captures, found {config}; use torch.export.export.",
        )
    if not isinstance(args, tuple):
        raise ExportError(ExportErrorType.INVALID_INPUT_TYPE, f"args: expected a tuple, found {type(args).__name__}")
    module = f if isinstance(f, torch.nn.Module) else _Function(f)
    if dynamic_shapes is None and config.enable_dynamic_shape:
        dynamic_shapes = tree_map(_all_dynamic, args)
    if dynamic_shapes is not None and not isinstance(f, torch.nn.Module):
        dynamic_shapes = (dynamic_shapes,)  # the parameter *args of the wrapper
    return ExirExportedProgram(torch.export.export(module, args, dynamic_shapes=dynamic_shapes, strict=True), False)


def _all_dynamic(value: Any) -> Any:
    return dict.fromkeys(range(value.dim()), Dim.AUTO) if isinstance(value, torch.Tensor) else None


class ExirExportedProgram:
    """An exported program on its way to `ExecutorchProgram`: as captured, or in edge dialect."""

    def __init__(
        self,
        exported_program: ExportedProgram,
        after_to_edge_passes: bool,
        compile_config: EdgeCompileConfig | None = None,
    ) -> None:
        self.exported_program = exported_program
        self.after_to_edge_passes = after_to_edge_passes
        self.compile_config = compile_config or EdgeCompileConfig()

    @property
    def graph_module(self) -> GraphModule:
        return self.exported_program.graph_module

    @property
    def call_spec(self) -> CallSpec:
        """The structure of the inputs, (args, kwargs), and of the outputs."""
        spec = self.exported_program.call_spec
        return CallSpec(spec.in_spec, spec.out_spec)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.exported_program.module()(*args, **kwargs)

    def transform(self, *passes: PassType) -> ExirExportedProgram:
        """Returns the program after some passes. This object does not change."""
        changed = transform(self.exported_program, *passes)
        return ExirExportedProgram(changed, self.after_to_edge_passes, self.compile_config)

    def to_edge(self, config: EdgeCompileConfig | None = None) -> ExirExportedProgram:
        """Returns the program in the edge dialect. Raises ExportError if it already is."""
        if self.after_to_edge_passes:
            raise ExportError(ExportErrorType.NOT_SUPPORTED, "the program is in edge dialect already")
        config = config or self.compile_config
        edge = to_edge(self.exported_program, compile_config=config)
        return ExirExportedProgram(edge.exported_program(), True, config)

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgram:
        """The program that runs. Raises RuntimeError before `to_edge`."""
        if not self.after_to_edge_passes:
            raise RuntimeError("the program is not in edge dialect: call to_edge() before to_executorch()")
        manager = EdgeProgramManager(self.exported_program, compile_config=self.compile_config)
        return ExecutorchProgram(manager.to_executorch(config))

    def dump(self) -> None:
        """Prints the graph."""
        print(self.graph_module.graph)


class ExecutorchProgram:
    """A program with the single method "forward" in the form that runs; see `ExecutorchProgramManager`."""

    def __init__(self, manager: ExecutorchProgramManager) -> None:
        self._manager = manager

    @property
    def buffer(self) -> bytes:
        """The contents of the `.pte` file."""
        return self._manager.buffer

    @property
    def program(self) -> Program:
        """The program as the schema's dataclasses."""
        return self._manager.executorch_program

    @property
    def debug_handle_map(self) -> dict[str, dict[int, int | list[int]]]:
        return self._manager.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        return self._manager.delegate_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        return self._manager.instruction_id_to_num_outs_map

    @property
    def graph_module(self) -> GraphModule:
        return self.dump_exported_program().graph_module

    def dump_graph_module(self) -> GraphModule:
        """The graph that was emitted."""
        return self.graph_module

    def dump_exported_program(self) -> ExportedProgram:
        """The exported program that was emitted."""
        return self._manager.exported_program()

    def write_to_file(self, open_file: io.BufferedIOBase) -> None:
        """Writes the `.pte` to a file that is open for writing in binary mode."""
        self._manager.write_to_file(open_file)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes the external constants, if there are any, to a directory."""
        self._manager.write_tensor_data_to_file(outdir)
