# SPDX-License-Identifier: BSD-3-Clause
"""Turns constants that a pass added as attributes into inputs of the program."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

from sdk.exir.graph.fake import fake_mode_of


def lift_constant_tensor_pass(ep: ExportedProgram) -> ExportedProgram:
    """Turns tensors that a pass left as attributes of the graph module into buffers of the program, in place."""
    gm, signature = ep.graph_module, ep.graph_signature
    found = [n for n in gm.graph.nodes if n.op == "get_attr" and isinstance(getattr(gm, n.target, None), torch.Tensor)]
    if not found:
        return ep
    user_inputs = set(signature.user_inputs)
    first = next(n for n in gm.graph.nodes if n.op != "placeholder" or n.name in user_inputs)
    position = sum(n.op == "placeholder" and n.name not in user_inputs for n in gm.graph.nodes)
    fake_mode = fake_mode_of(gm)
    specs, state = list(signature.input_specs), dict(ep.state_dict)
    for node in found:
        tensor = getattr(gm, node.target)
        name, index = "_lifted_tensor_constant0", 0
        while name in state:
            index += 1
            name = f"_lifted_tensor_constant{index}"
        with gm.graph.inserting_before(first):
            placeholder = gm.graph.placeholder(name)
        placeholder.meta = {**node.meta, "val": fake_mode.from_tensor(tensor, static_shapes=True)}
        node.replace_all_uses_with(placeholder)
        gm.graph.erase_node(node)
        state[name] = tensor
        argument = TensorArgument(name=placeholder.name)
        specs.insert(position, InputSpec(kind=InputKind.BUFFER, arg=argument, target=name, persistent=True))
        position += 1
    signature.input_specs = specs
    ep._state_dict = state
    gm.recompile()
    return ep
