# SPDX-License-Identifier: BSD-3-Clause
"""Makes exported programs of the submodules that `create_submodule_from_nodes` cuts out of a program."""

from __future__ import annotations

import copy
import operator
from typing import Any

from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from sdk.exir.graph.programs import assemble

_TAG = "delegation_tag"


def arrange_graph_placeholders(gm: GraphModule, owning_program: ExportedProgram, tag: str) -> GraphModule:
    """Orders the placeholders of a submodule as a program has them: parameters and buffers of `owning_program` that
    have the tag, and then its inputs. Changes and returns `gm`."""
    signature = owning_program.graph_signature
    kinds = (signature.inputs_to_parameters, signature.inputs_to_buffers)

    def rank(node: Node) -> int:
        if node.meta.get(_TAG) != tag:
            return len(kinds)
        return next((i for i, names in enumerate(kinds) if node.name in names), len(kinds))

    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    for node in sorted(placeholders, key=rank)[::-1]:
        gm.graph._root.append(node)
    gm.graph.lint()
    gm.recompile()
    return gm


def arrange_graph_outputs(gm: GraphModule, output_specs: list[OutputSpec], call_module_node: Node) -> GraphModule:
    """Puts the results of a submodule that are new values of buffers and inputs before the others, in `gm`, in
    `output_specs` and in the `getitem` nodes that read `call_module_node`. Changes and returns `gm`."""
    output = gm.graph.output_node()
    values = list(output.args[0])
    if len(values) != len(output_specs):
        raise RuntimeError(f"the submodule returns {len(values)} values; expected {len(output_specs)}, as the specs")
    mutations = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
    order = sorted(range(len(values)), key=lambda i: output_specs[i].kind not in mutations)
    output.args = ([values[i] for i in order],)
    output_specs[:] = [output_specs[i] for i in order]
    for user in list(call_module_node.users):
        if user.target is operator.getitem:
            user.args = (call_module_node, order.index(user.args[1]))
    gm.recompile()
    return gm


def create_exported_program_from_submodule(
    submodule: GraphModule, owning_program: ExportedProgram, tag: str, call_module_node: Node, is_submodule: bool
) -> tuple[ExportedProgram, dict[str, InputSpec], dict[str, OutputSpec]]:
    """The program of a submodule, with the weights and buffers of `owning_program` that have the tag.

    Args:
        submodule: It is changed: placeholders and outputs get the order of programs.
        owning_program: The program that the submodule was part of.
        tag: The `delegation_tag` of the constants that become the submodule's.
        call_module_node: Calls the submodule; its `getitem` nodes follow the order of the outputs.
        is_submodule: Whether the call is in a branch or loop body, which owns no constants.

    Returns:
        The program, and the inputs and writes to buffers that it took from `owning_program`, by the names of the nodes.
    """
    arrange_graph_placeholders(submodule, owning_program, tag)
    signature = owning_program.graph_signature
    known = {} if is_submodule else {s.arg.name: s for s in signature.input_specs if hasattr(s.arg, "name")}
    inputs: list[InputSpec] = []
    gone: dict[str, InputSpec] = {}
    for node in submodule.graph.find_nodes(op="placeholder"):
        spec = known.get(node.name)
        owned = spec is not None and node.meta.get(_TAG) == tag
        if spec is not None and owned and spec.kind != InputKind.USER_INPUT:
            gone[node.name] = spec
        is_plain = spec is None or (isinstance(spec.arg, TensorArgument) and not owned)
        inputs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None) if is_plain else copy.copy(spec))
    targets = {spec.target for spec in gone.values()}
    written = {} if is_submodule else _written(owning_program, call_module_node, targets)
    outputs: list[OutputSpec] = []
    for position, value in enumerate(submodule.graph.output_node().args[0]):
        if position in written:
            arg: Any = TensorArgument(value.name)
            outputs.append(OutputSpec(OutputKind.BUFFER_MUTATION, arg, written[position].target))
        else:
            arg = TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)
            outputs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
    arrange_graph_outputs(submodule, outputs, call_module_node)
    new_signature = ExportGraphSignature(input_specs=inputs, output_specs=outputs)
    program = assemble(
        owning_program,
        submodule,
        new_signature,
        state_dict={name: value for name, value in owning_program.state_dict.items() if name in targets},
        constants={name: value for name, value in owning_program.constants.items() if name in targets},
    )
    call = ModuleCallSignature(
        inputs=[],
        outputs=[],
        in_spec=pytree.tree_structure((tuple(new_signature.user_inputs), {})),
        out_spec=pytree.tree_structure(list(new_signature.user_outputs)),
    )
    program._module_call_graph = [ModuleCallEntry(fqn="", signature=call)]
    program._example_inputs = None
    return program, gone, {spec.arg.name: spec for spec in written.values()}


def _written(program: ExportedProgram, call: Node, targets: set[str | None]) -> dict[int, OutputSpec]:
    """The results of a call, by position, that are new values of the buffers `targets`."""
    found: dict[int, OutputSpec] = {}
    # By position: the names of the signature may be those of the nodes that the submodule replaced.
    outputs = list(zip(program.graph.output_node().args[0], program.graph_signature.output_specs, strict=True))
    for user in (user for user in call.users if user.target is operator.getitem):
        uses = [spec for value, spec in outputs if value is user]
        owned = [spec for spec in uses if spec.kind == OutputKind.BUFFER_MUTATION and spec.target in targets]
        if owned and len(uses) > 1:
            raise ValueError(
                f"the new value of the buffer {owned[0].target} is also another output of the program, and the "
                "submodule owns the buffer. Do not tag the buffer, or return a copy of its value"
            )
        if owned:
            found[user.args[1]] = owned[0]
    return found
