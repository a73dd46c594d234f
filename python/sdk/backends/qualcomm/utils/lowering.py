# SPDX-License-Identifier: BSD-3-Clause
"""Captures modules and delegates them to QNN."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch._decomp import core_aten_decompositions, remove_decompositions
from torch.export import export

from sdk.backends.qualcomm.partition.qnn_partitioner import QnnPartitioner
from sdk.backends.qualcomm.partition.utils import get_skip_decomp_table, options_of
from sdk.backends.qualcomm.qnn.payload import binary_of, is_payload
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir._serialize._regular_file import read_file
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.program._captured import ExirExportedProgram, capture

Specs = Sequence[CompileSpec]


def qnn_edge_config() -> EdgeCompileConfig:
    """The configuration for lowering modules to the edge dialect."""
    return EdgeCompileConfig(_check_ir_validity=False)


def get_decomp_table(passes_job: Mapping[Any, Any] | None = None) -> dict[Any, Callable[..., Any]]:
    """ATen's decompositions, except for operators that QNN has. Raises ValueError for `passes_job`."""
    _refuse(passes_job=passes_job)
    table: dict[Any, Callable[..., Any]] = core_aten_decompositions()
    remove_decompositions(table, get_skip_decomp_table())
    return table


def _refuse(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is given, but this package does not have ExecuTorch's passes for QNN: leave it None, and pass "
                f"other passes to to_edge_transform_and_lower of sdk.exir"
            )


def _by_method(given: Any, methods: Collection[str]) -> dict[str, Any]:
    """Returns a value for each method: its entry in `given` if this is a dict with the methods as keys, otherwise
    `given` itself."""
    if isinstance(given, dict) and given.keys() == set(methods):
        return given
    return dict.fromkeys(methods, given)


def to_edge_transform_and_lower_to_qnn(
    module: nn.Module | dict[str, nn.Module],
    inputs: tuple[Any, ...] | dict[str, tuple[Any, ...]],
    compiler_specs: Specs | dict[str, Specs],
    constant_methods: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    dep_table: Mapping[Any, Any] | None = None,
    passes_job: Mapping[Any, Any] | None = None,
    skip_node_id_set: Collection[str] | None = None,
    skip_node_op_set: Collection[Any] | None = None,
    skip_mutable_buffer: bool = False,
    generate_etrecord: bool = False,
    convert_linear_to_conv2d: bool = False,
) -> EdgeProgramManager:
    """Captures a module and delegates it to QNN.

    Args:
        module: The module in evaluation mode, or a dict of modules by the names of their methods.
        inputs: The example inputs, or a dict of them by method.
        compiler_specs: From `generate_qnn_executorch_compiler_spec`, for all methods or a dict by method.
        constant_methods: Methods that return a fixed value.
        dynamic_shapes: As for `torch.export`. QNN's programs have fixed shapes, so calls with dynamic shapes stay on
            kernels.
            dep_table: Must be None, because this package does not have ExecuTorch's passes.
            passes_job: Must be None.
        skip_node_id_set: Names of nodes that stay on kernels.
        skip_node_op_set: Operators that stay on kernels.
        skip_mutable_buffer: Has no effect: state stays with the program.
        generate_etrecord: Whether the programs are kept for debugging tools.
        convert_linear_to_conv2d: Linear layers become convolutions, which some HTPs compute faster. Needs a module.

    Raises ValueError for unsupported arguments, and for `dump_intermediate_outputs` with several methods.
    """
    _refuse(dep_table=dep_table, passes_job=passes_job)
    modules = module if isinstance(module, dict) else {"forward": module}
    if convert_linear_to_conv2d:
        modules = {name: _with_convolutions(each) for name, each in modules.items()}
    specs, given = _by_method(compiler_specs, modules), _by_method(inputs, modules)
    if len(modules) > 1 and any(options_of(each).dump_intermediate_outputs for each in specs.values()):
        raise ValueError("dump_intermediate_outputs is for one method, and there are several: lower them one by one")
    shapes = _by_method(dynamic_shapes, modules)
    programs = {
        name: export(each, given[name], dynamic_shapes=shapes[name], strict=True) for name, each in modules.items()
    }
    skipped = skip_node_id_set, skip_node_op_set, skip_mutable_buffer
    return to_edge_transform_and_lower(
        programs,
        partitioner={name: [QnnPartitioner(specs[name], *skipped)] for name in modules},
        constant_methods=constant_methods,
        compile_config=qnn_edge_config(),
        generate_etrecord=generate_etrecord,
    )


def capture_program(
    module: nn.Module,
    inputs: tuple[Any, ...],
    dep_table: Mapping[Any, Any] | None = None,
    passes_job: Mapping[Any, Any] | None = None,
    dynamic_shapes: Any = None,
) -> ExirExportedProgram:
    """A module as an edge program that a `QnnPartitioner` can divide. `to_edge_transform_and_lower_to_qnn` does
    both."""
    warnings.warn(
        "capture_program is deprecated: use to_edge_transform_and_lower_to_qnn", DeprecationWarning, stacklevel=2
    )
    _refuse(dep_table=dep_table, passes_job=passes_job)
    config = EdgeCompileConfig(_check_ir_validity=False, preserve_ops=get_skip_decomp_table())
    return capture(module, inputs, dynamic_shapes=dynamic_shapes).to_edge(config)


class _Convolution(nn.Module):
    """A linear layer as a convolution with a 1x1 kernel."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.conv = nn.Conv2d(linear.in_features, linear.out_features, 1, bias=linear.bias is not None)
        self.conv.weight = nn.Parameter(linear.weight.detach().reshape(*linear.weight.shape, 1, 1))
        if linear.bias is not None:
            self.conv.bias = nn.Parameter(linear.bias.detach())

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(1, -1, 1, x.shape[-1]).permute(0, 3, 1, 2)
        result: Tensor = self.conv(rows).permute(0, 2, 3, 1).reshape(*x.shape[:-1], -1)
        return result


def convert_linear_to_conv2d(module: nn.Module) -> nn.Module:
    """Replaces the linear layers in a module by convolutions, in place, and returns the module."""
    if isinstance(module, nn.Linear):
        return _Convolution(module)
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, _Convolution(child))
        else:
            convert_linear_to_conv2d(child)
    return module


def _with_convolutions(module: nn.Module) -> nn.Module:
    if isinstance(module, torch.fx.GraphModule):
        raise ValueError(
            "convert_linear_to_conv2d is True, and the module is a graph: call convert_linear_to_conv2d of this module "
            "on the model before it is captured"
        )
    return convert_linear_to_conv2d(copy.deepcopy(module))


def dump_context_from_pte(pte_path: str | Path) -> list[str]:
    """Writes the context binary of each QNN delegate to `METHOD_INDEX.bin` in the program's folder. Other payloads are
    written unchanged to `METHOD_INDEX.dlc`. Returns the names of the files.

    Raises ValueError for a program, or a payload, that is damaged.
    """
    program = deserialize_pte_binary(read_file(pte_path)).program
    files: list[str] = []
    for plan in program.execution_plan:
        for index, delegate in enumerate(plan.delegates):
            if delegate.id == "QnnBackend":
                payload = program.backend_delegate_data[delegate.processed.index].data
                is_binary = is_payload(payload)
                file = Path(pte_path).parent / f"{plan.name}_{index}.{'bin' if is_binary else 'dlc'}"
                file.write_bytes(binary_of(payload) if is_binary else payload)
                files.append(str(file))
    return files
