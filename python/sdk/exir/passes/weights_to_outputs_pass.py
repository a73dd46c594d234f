# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are trained where they run: methods return the parameters whose gradients they return.

`torch.export.experimental._export_forward_backward` makes a graph that returns the loss, the other outputs, and a
gradient for each parameter. An optimizer of the device needs the parameters, too, in memory that it can write to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument
from torch.fx import Node

from sdk.exir.error import ExportError, ExportErrorType
from sdk.exir.graph.programs import assemble, copy_program

_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)


def trained_parameters(signature: ExportGraphSignature) -> list[str]:
    """The names of the parameters whose gradients a method returns, in the order of these outputs."""
    return [str(s.target) for s in signature.output_specs if s.kind == OutputKind.GRADIENT_TO_PARAMETER]


def weights_to_outputs_pass(exported_program: ExportedProgram) -> ExportedProgram:
    """Returns the program with the trained parameters as additional outputs, after the others, and as state: such an
    output is the memory of the parameter, which the next call reads. A program without gradients is returned unchanged.

    Raises ExportError if a backend has a trained parameter, which no optimizer could change there.
    """
    names = trained_parameters(exported_program.graph_signature)
    if not names:
        return exported_program
    program = copy_program(exported_program)
    signature = program.graph_signature
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    nodes: dict[str, Node] = {}
    inputs = []
    for spec in signature.input_specs:
        if spec.target in names and spec.kind == InputKind.PARAMETER:
            nodes[str(spec.target)] = placeholders[spec.arg.name]
            spec.kind, spec.persistent = InputKind.BUFFER, True
        inputs.append(spec)
    refuse_copies_of_backends(names, set(names) - nodes.keys())
    arguments = {name: TensorArgument(name=nodes[name].name) for name in names}
    # The parameter is its own new value: nothing is written, but the planner keeps the memory between calls.
    state = [OutputSpec(OutputKind.BUFFER_MUTATION, arguments[name], name) for name in names]
    # Signatures have no kind for a parameter that is returned. ExecuTorch uses TOKEN, which edge dialect does not need.
    returned = [OutputSpec(OutputKind.TOKEN, arguments[name], None) for name in names]
    weights = tuple(nodes[name] for name in names)
    output = program.graph.output_node()
    output.args = ((*weights, *output.args[0], *weights),)
    output.meta.pop("val", None)
    program.graph_module.recompile()
    signature = ExportGraphSignature(inputs, [*state, *signature.output_specs, *returned])
    return assemble(program, program.graph_module, signature)


def refuse_copies_of_backends(trained: Iterable[str], owned: Collection[str]) -> None:
    """Raises ExportError if a backend owns a trained parameter: it would always compute with the initial values."""
    for name in trained:
        if name in owned:
            raise ExportError(
                ExportErrorType.NOT_SUPPORTED,
                f"the program returns the gradient of {name!r}, but a backend has a copy of this weight that no "
                "optimizer can change. Lower programs that are trained without a partitioner",
            )


def training_methods(name: str, signature: ExportGraphSignature) -> dict[str, Any]:
    """Returns constant methods, by name, that `TrainingModule` calls: the indices of the first gradient and of the
    first parameter among the outputs of the method `name`, and the names of the parameters. Empty for a method without
    gradients.

    Raises ExportError if other outputs lie between the gradients.
    """
    names = trained_parameters(signature)
    if not names:
        return {}
    outputs = [spec for spec in signature.output_specs if spec.kind not in _MUTATIONS]
    is_gradient = [spec.kind == OutputKind.GRADIENT_TO_PARAMETER for spec in outputs]
    first = is_gradient.index(True)
    if not all(is_gradient[first : first + len(names)]):
        raise ExportError(ExportErrorType.NOT_SUPPORTED, f"method {name!r} has outputs between its gradients")
    return {
        f"__et_training_gradients_index_{name}": first,
        f"__et_training_fqn_{name}": names,
        f"__et_training_parameters_index_{name}": len(outputs),
    }
