# SPDX-License-Identifier: BSD-3-Clause
"""Lowers a model to a program of the operators `cadence::*`, step by step or in one call."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

import sdk.backends.cadence.aot.ops_registrations  # noqa: F401  (registers the operators)
from sdk.backends.cadence.aot.compiler_funcs import QuantArgs, QuantFusionPass, QuantizedInputWrapper
from sdk.backends.cadence.aot.compiler_funcs import prepare as _prepare
from sdk.backends.cadence.aot.compiler_funcs import trace as _trace
from sdk.backends.cadence.aot.kernel_libraries import check_kernels
from sdk.backends.cadence.aot.memory_planning import CadenceMemoryPlanning, print_memory_planning_info
from sdk.backends.cadence.aot.pass_utils import EdgePassesConfig
from sdk.backends.cadence.aot.passes import apply_exir_ops_passes, apply_torch_ops_passes
from sdk.backends.cadence.aot.quantizer.passes.fuse_ops import FuseQATConvBN
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer, CadenceQuantizer
from sdk.backends.cadence.aot.to_out_var_pass import CadenceToOutVarPass
from sdk.backends.cadence.aot.utils import MemoryConfig, get_default_memory_config, print_ops_info
from sdk.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
)
from sdk.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass

_logger = logging.getLogger(__name__)
_aten = torch.ops.aten

TO_EDGE_PRESERVE_OPS = [_aten.rms_norm.default]
"""Operators that the export does not decompose."""
TO_EDGE_OP_EXCEPTION_LIST = [
    *(_aten._linalg_det.default, _aten._linalg_svd.default, _aten.linalg_vector_norm.default),
    *(_aten._native_batch_norm_legit_functional.default, _aten.linear.default, _aten.unfold.default),
    *(_aten.angle.default, _aten.rms_norm.default, _aten.transpose_copy.int),
]
"""Operators outside Core ATen that programs may contain."""

Inputs = tuple[object, ...]


def _log_graph(title: str, graph: torch.fx.Graph, wanted: bool) -> None:
    if wanted:
        _logger.info("%s:\n%s", title, graph)


def trace(
    model: torch.nn.Module,
    inputs: Inputs,
    dump_graphs: bool = False,
    ops_to_keep: Sequence[torch._ops.OpOverload] | None = None,
    is_qat: bool = False,
) -> ExportedProgram:
    """Exports a model and decomposes it to Core ATen, except for `ops_to_keep`."""
    program = _trace(model, inputs, is_qat=is_qat, strict=True, ops_to_keep=ops_to_keep)
    _log_graph("Graph before quantization", program.graph, dump_graphs)
    return program


def prepare_traced_pt2(
    program: ExportedProgram, quantizer: CadenceQuantizer, dump_graphs: bool = False, is_qat: bool = False
) -> GraphModule:
    """Inserts a quantizer's observers into an exported model. The same quantizer fuses the model later."""
    prepared = _prepare(program, quantizer, is_qat=is_qat)
    _log_graph("Graph after preparation", prepared.graph, dump_graphs)
    return prepared


def prepare_pt2(
    model: torch.nn.Module,
    inputs: Inputs,
    quantizer: CadenceQuantizer,
    dump_graphs: bool = False,
    is_qat: bool = False,
) -> GraphModule:
    """Exports a model and inserts a quantizer's observers. The same quantizer fuses the model later."""
    kept = quantizer.get_ops_to_preserve_from_decomposition()
    program = trace(model, inputs, dump_graphs, kept, is_qat)
    return prepare_traced_pt2(program, quantizer, dump_graphs, is_qat)


def convert_pt2(graph_module: GraphModule, dump_graphs: bool = False) -> GraphModule:
    """Replaces the observers of a calibrated model with quantize and dequantize nodes."""
    converted: GraphModule = convert_pt2e(graph_module)
    _log_graph("Graph after convert", converted.graph, dump_graphs)
    return converted


def apply_pre_edge_transform_passes(converted_program: ExportedProgram, quantizer: CadenceQuantizer) -> ExportedProgram:
    """Fuses quantised chains with the patterns of the quantizer that the model was prepared with."""
    FuseQATConvBN(converted_program)(converted_program.graph_module)
    QuantFusionPass(quantizer.patterns())(converted_program.graph_module)
    return apply_torch_ops_passes(converted_program)


def get_fake_quant_model(
    model: torch.nn.Module,
    inputs: Inputs,
    quantizer: CadenceQuantizer,
    calibration_data: Sequence[Inputs] | None = None,
    dump_graphs: bool = False,
) -> GraphModule:
    """Returns the model with quantize and dequantize nodes. It is calibrated with the data, or with the
    inputs if `calibration_data` is None. Buffers that calibration changes are restored, in the model too."""
    prepared = prepare_pt2(model.eval(), inputs, quantizer, dump_graphs)
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    for samples in [inputs] if calibration_data is None else calibration_data:
        prepared(*samples)
    for buffer, value in before:  # the prepared graph has the same tensors
        if not torch.equal(buffer, value):
            buffer.copy_(value)
    return convert_pt2(prepared, dump_graphs)


def _quantized(value: Any, parameters: QuantArgs | None) -> Any:
    """Quantises an example input to the integers that a program takes."""
    if parameters is None or not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return value
    return torch.ops.quantized_decomposed.quantize_per_tensor.default(value, *parameters)


def quantize_pt2(
    model: torch.nn.Module,
    inputs: Inputs,
    quantizer: CadenceQuantizer | None = None,
    calibration_data: Sequence[Inputs] | None = None,
    dump_graphs: bool = False,
    quant_input_args: Sequence[str] | Mapping[int, Any] | None = None,
) -> ExportedProgram:
    """Quantises a model and fuses its chains. Without calibration data, the inputs calibrate it, which is only good
    enough for tests. The program takes integers for the inputs `quant_input_args`; see `QuantizedInputWrapper`."""
    quantizer = CadenceDefaultQuantizer() if quantizer is None else quantizer
    converted: torch.nn.Module = get_fake_quant_model(model, inputs, quantizer, calibration_data, dump_graphs)
    taken = inputs
    if quant_input_args is not None:
        converted = QuantizedInputWrapper(converted, quant_input_args)
        taken = tuple(_quantized(value, converted.quant_args.get(at)) for at, value in enumerate(inputs))
    exported = torch.export.export(converted, taken, strict=True)
    if quant_input_args is not None:
        QuantizedInputWrapper.sink_dequants(exported)
    fused = apply_pre_edge_transform_passes(exported, quantizer)
    _log_graph("Graph after quantization and fusion", fused.graph, dump_graphs)
    return fused


def edge_compile_config(core_aten_exceptions: Sequence[torch._ops.OpOverload] | None = None) -> EdgeCompileConfig:
    """Returns the configuration for lowering to the edge dialect. The operators given may appear besides Core ATen."""
    return EdgeCompileConfig(
        _skip_dim_order=True,
        _core_aten_ops_exception_list=[*TO_EDGE_OP_EXCEPTION_LIST, *(core_aten_exceptions or ())],
        preserve_ops=TO_EDGE_PRESERVE_OPS,
    )


def _lower_ep_to_edge(
    expo_program: ExportedProgram,
    dump_graphs: bool = False,
    constant_methods: Mapping[str, Any] | None = None,
    core_aten_exceptions: Sequence[torch._ops.OpOverload] | None = None,
) -> EdgeProgramManager:
    config = edge_compile_config(core_aten_exceptions)
    constants = None if constant_methods is None else dict(constant_methods)
    manager = to_edge(apply_torch_ops_passes(expo_program), constant_methods=constants, compile_config=config)
    _log_graph("Graph after Edge lowering", manager.exported_program().graph, dump_graphs)
    return manager


def export_to_edge(
    model: torch.nn.Module,
    inputs: Inputs,
    dump_graphs: bool = False,
    constant_methods: Mapping[str, Any] | None = None,
    core_aten_exceptions: Sequence[torch._ops.OpOverload] | None = None,
) -> EdgeProgramManager:
    """Exports a float model and lowers it to the edge dialect."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"expected an nn.Module as the model, found {type(model).__name__}")
    return _lower_ep_to_edge(trace(model, inputs), dump_graphs, constant_methods, core_aten_exceptions)


def quantize_and_export_to_edge(
    model: torch.nn.Module,
    inputs: Inputs,
    quantizer: CadenceQuantizer | None = None,
    dump_graphs: bool = False,
    constant_methods: Mapping[str, Any] | None = None,
    calibration_data: Sequence[Inputs] | None = None,
    core_aten_exceptions: Sequence[torch._ops.OpOverload] | None = None,
) -> EdgeProgramManager:
    """Quantises a model and lowers it to the edge dialect."""
    program = quantize_pt2(model, inputs, quantizer, calibration_data, dump_graphs)
    return _lower_ep_to_edge(program, dump_graphs, constant_methods, core_aten_exceptions)


def _lower_ep_to_cadence(
    program: ExportedProgram,
    dump_graphs: bool = False,
    opt_level: int = 1,
    edge_passes_config: EdgePassesConfig | None = None,
) -> EdgeProgramManager:
    return apply_exir_ops_passes(opt_level, _lower_ep_to_edge(program, dump_graphs), edge_passes_config)


def export_to_cadence(
    model: torch.nn.Module,
    inputs: Inputs,
    dump_graphs: bool = False,
    opt_level: int = 1,
    edge_passes_config: EdgePassesConfig | None = None,
) -> EdgeProgramManager:
    """Exports a float model and runs the passes of an optimisation level."""
    return apply_exir_ops_passes(opt_level, export_to_edge(model, inputs, dump_graphs), edge_passes_config)


def quantize_and_export_to_cadence(
    model: torch.nn.Module,
    inputs: Inputs,
    dump_graphs: bool = False,
    opt_level: int = 1,
    edge_passes_config: EdgePassesConfig | None = None,
    quantizer: CadenceQuantizer | None = None,
    calibration_data: Sequence[Inputs] | None = None,
) -> EdgeProgramManager:
    """Quantises a model and runs the passes of an optimisation level."""
    program = quantize_pt2(model, inputs, quantizer, calibration_data)
    return _lower_ep_to_cadence(program, dump_graphs, opt_level, edge_passes_config)


def export_to_executorch_gen_etrecord(
    model: torch.nn.Module,
    inputs: Inputs,
    output_dir: str | None = None,
    opt_level: int = 1,
    mem_algo: int = 0,
    alloc_graph_input: bool = True,
    alloc_graph_output: bool = True,
    memory_config: MemoryConfig | None = None,
    dump_graphs: bool = False,
    library: str | None = None,
) -> ExecutorchProgramManager:
    """Exports a float model to a program whose memory is planned for `memory_config`. If `output_dir` is given, writes
    the ETRecord to etrecord.bin in it. If a library is given (`kernel_libraries.LIBRARIES`), raises MissingKernelError
    if it has no kernel for an operator."""
    return _lower_ep_to_cadence_gen_etrecord(
        torch.export.export(model, inputs, strict=True),
        output_dir=output_dir,
        opt_level=opt_level,
        mem_algo=mem_algo,
        alloc_graph_input=alloc_graph_input,
        alloc_graph_output=alloc_graph_output,
        memory_config=memory_config,
        dump_graphs=dump_graphs,
        library=library,
    )


def _lower_ep_to_cadence_gen_etrecord(
    ep: ExportedProgram,
    output_dir: str | None = None,
    opt_level: int = 1,
    mem_algo: int = 0,
    alloc_graph_input: bool = True,
    alloc_graph_output: bool = True,
    memory_config: MemoryConfig | None = None,
    dump_graphs: bool = False,
    library: str | None = None,
) -> ExecutorchProgramManager:
    from sdk.devtools import generate_etrecord

    edge = _lower_ep_to_edge(ep, dump_graphs)
    lowered = apply_exir_ops_passes(opt_level, edge)
    print_ops_info(edge.exported_program().graph_module, lowered.exported_program().graph_module)
    memories = get_default_memory_config() if memory_config is None else memory_config
    planning = CadenceMemoryPlanning(memories, opt_level, mem_algo, alloc_graph_input, alloc_graph_output)
    program = lowered.to_executorch(
        ExecutorchBackendConfig(
            memory_planning_pass=planning,
            to_out_var_pass=CadenceToOutVarPass(),
            sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(),
        )
    )
    if library is not None:
        check_kernels(program, library)
    print_memory_planning_info(program, memories, opt_level, alloc_graph_input, alloc_graph_output)
    if output_dir is not None:
        generate_etrecord(str(Path(output_dir) / "etrecord.bin"), edge, program)
    return program
