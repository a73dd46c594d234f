# SPDX-License-Identifier: BSD-3-Clause
"""Stores weights in the default dim order."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from sdk.exir.graph.programs import assemble, copy_program

_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def convert_constant_dim_order_pass(exported_program: ExportedProgram) -> ExportedProgram:
    """A program whose parameters, buffers and constants are contiguous or channels-last, for backends that take no
    other layout.

    Values stay the same. Operators whose results took their layout from a weight keep the layout that was recorded.
    """
    program = copy_program(exported_program)
    state, constants = dict(program.state_dict), dict(program.constants)
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind not in _KINDS:
            continue
        for values in (state, constants):
            value = values.get(spec.target)
            if isinstance(value, torch.Tensor) and not _is_common(value):
                dense = value.detach().contiguous()
                values[spec.target] = (
                    torch.nn.Parameter(dense, value.requires_grad) if isinstance(value, torch.nn.Parameter) else dense
                )
                node = nodes[spec.arg.name]
                node.meta["val"] = node.meta["val"].contiguous()
    return assemble(program, program.graph_module, program.graph_signature, state_dict=state, constants=constants)


def _is_common(value: torch.Tensor) -> bool:
    return value.is_contiguous() or (value.dim() == 4 and value.is_contiguous(memory_format=torch.channels_last))
