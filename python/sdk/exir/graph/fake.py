# SPDX-License-Identifier: BSD-3-Clause
"""Fake tensors of a graph, and programs without weights: for passes that only need shapes, on models too large to
copy."""

from __future__ import annotations

import torch
from torch._guards import detect_fake_mode
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.fx import GraphModule

from sdk.exir.graph.programs import assemble, copy_graph_module, copy_signature


def fake_mode_of(module: GraphModule) -> FakeTensorMode:
    """The mode that the graph's fake tensors belong to, or a new one."""
    values = [n.meta["val"] for n in module.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    mode = detect_fake_mode(values)
    if mode is None:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    return mode


def get_fake_program(real_exported_program: ExportedProgram) -> ExportedProgram:
    """A copy whose weights are fake tensors: they have shapes and dtypes, but no memory. Constants, including buffers
    that are not saved, are those of the real program."""
    mode = fake_mode_of(real_exported_program.graph_module)
    weights = {
        name: mode.from_tensor(value, static_shapes=True) for name, value in real_exported_program.state_dict.items()
    }
    return assemble(
        real_exported_program,
        copy_graph_module(real_exported_program.graph_module),
        copy_signature(real_exported_program.graph_signature),
        state_dict=weights,
        constants=real_exported_program.constants,
    )


def update_to_real_program(fake_exported_program: ExportedProgram, real_exported_program: ExportedProgram) -> None:
    """Gives a fake program, which passes may have changed since, the weights of the real one."""
    fake_exported_program._state_dict.update(
        {k: v for k, v in real_exported_program.state_dict.items() if k in fake_exported_program._state_dict}
    )
    fake_exported_program._constants.update(
        {k: v for k, v in real_exported_program.constants.items() if k in fake_exported_program._constants}
    )
