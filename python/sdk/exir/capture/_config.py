# SPDX-License-Identifier: BSD-3-Clause
"""Options of the two lowering steps: `EdgeCompileConfig` for `to_edge`, `ExecutorchBackendConfig` for
`to_executorch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from sdk.exir.dynamic_shape import DynamicMemoryPlanningMode
from sdk.exir.passes.memory_planning_pass import MemoryPlanningPass
from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from sdk.exir.passes.to_out_var_pass import ToOutVarPass

PassType = Callable[[GraphModule], Any | None]


@dataclass
class CaptureConfig:
    """Options of `capture`, which came before `torch.export.export`. `enable_dynamic_shape` is used; `enable_aot` has
    no effect, because parameters are always inputs of the graph, as with True. `capture` refuses other values of the
    rest than the defaults."""

    pt2_mode: bool = True
    enable_functionalization: bool = True
    enable_dynamic_shape: bool = False
    enable_aot: bool = False
    _dynamo_config: Any = None
    _unlift: bool = False
    _use_old_decomp_table: bool = False


@dataclass
class EdgeCompileConfig:
    """How `to_edge` lowers.

    `_check_ir_validity`: verify the result. `_skip_dim_order`: keep memory formats instead of dim orders.
    `_core_aten_ops_exception_list`: operators outside Core ATen that are accepted. `preserve_ops`: operators that
    are accepted and not decomposed.
    """

    _check_ir_validity: bool = True
    _skip_dim_order: bool = False
    _core_aten_ops_exception_list: list[torch._ops.OpOverload] = field(default_factory=list)
    preserve_ops: list[torch._ops.OpOverload] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Code written for the original passes None for an empty list.
        self._core_aten_ops_exception_list = self._core_aten_ops_exception_list or []
        self.preserve_ops = self.preserve_ops or []


@dataclass
class ExecutorchBackendConfig:
    """How `to_executorch` lowers, plans memory and writes the program.

    Passes run in this order: `passes` (yours), spec propagation, `sym_shape_eval_pass`, view elimination
    (`remove_view_copy`), `to_out_var_pass`, `memory_planning_pass`. Fields marked "per method" also take a
    dict from method name to value. Alignments are in bytes.
    """

    passes: list[PassType] = field(default_factory=list)
    """Run first, on the edge graph of every method."""

    memory_planning_pass: PassType | dict[str, PassType] = field(default_factory=MemoryPlanningPass)
    """Places tensors in memory; per method."""

    propagate_device_config: PropagateDeviceConfig | dict[str, PropagateDeviceConfig] = field(
        default_factory=PropagateDeviceConfig
    )
    """Copies between devices at a method's boundary; per method."""

    to_out_var_pass: PassType = field(default_factory=ToOutVarPass)
    """Makes operators write into memory that the planner provides."""

    dynamic_memory_planning_mode: DynamicMemoryPlanningMode = DynamicMemoryPlanningMode.UPPER_BOUND
    """Sizes that the planner assumes for dynamic dimensions."""

    emit_stacktrace: bool = False
    """Store the Python source location of every instruction in the program."""

    extract_delegate_segments: bool = True
    """Store delegates' data in segments after the program, which can be loaded and freed separately."""

    segment_alignment: int = 128
    """Alignment of segments in the file."""

    constant_tensor_alignment: int | None = None
    """Alignment of every constant tensor in its segment; None for the default (16)."""

    delegate_alignment: int | None = None
    """Alignment of delegates' data inside the program; None for the default (16)."""

    sym_shape_eval_pass: PassType | dict[str, PassType] = field(default_factory=ConstraintBasedSymShapeEvalPass)
    """Replaces symbolic sizes of specs by upper bounds; per method."""

    remove_view_copy: bool = True
    """Share memory between a tensor and its reshaped form instead of copying."""

    external_constants: bool | Callable[[Node], str | None] = False
    """Store constants in a separate file: all of them, or those for which the function returns a file name."""

    external_mutable_weights: bool = False
    """Store parameters that training changes (those that are updated, or whose gradients are returned) in a separate
    file."""

    emit_mutable_buffer_names: bool = False
    """Store the names of mutable buffers, so that they can be found at run time."""

    do_quant_fusion_and_const_prop: bool = False
    """Fuse dequantize - operator - quantize and fold what only depends on constants."""

    run_reinplace_pass: bool = False
    """Let operators overwrite an argument that nothing else reads."""

    enable_non_cpu_memory_planning: bool = True
    """Plan tensors of other devices in separate arenas."""

    reinplace_extra_ops: frozenset[Any] | None = None
    """Operators to reinplace besides the default ones."""

    named_data: dict[str, bytes] = field(default_factory=dict)
    """Data of the application that is stored in the program under a name, such as a tokenizer. It begins at a multiple
    of 16 bytes; `Program::get_named_data_map()` finds it, in place if the program is mapped. A name that a backend uses
    for other bytes is a `ValueError`."""
