# SPDX-License-Identifier: BSD-3-Clause
"""Marks constants that are stored in a separate file (`.ptd`) instead of in the program.

The mark is `node.meta["constant_tag"]` of the constant's placeholder; its value is the name of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, OutputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from sdk.exir.tensor import TensorSpec

DEFAULT_TAG = "_default_external_constant"

GenTagFn = Callable[[Node], str | None]

_INLINE_PREFIXES = ("_lifted_tensor_constant", "c_lifted_tensor_")
"""Names of placeholders for numbers and tensors in the model's code. These names are numbered within a program, so
programs that share a file would confuse them."""

_TRAINED = (OutputKind.GRADIENT_TO_PARAMETER, OutputKind.PARAMETER_MUTATION)


def external_constants_pass(gm: GraphModule, gen_tag_fn: GenTagFn | None = None) -> PassResult:
    """Marks every constant that has a name in the model. `gen_tag_fn` returns the file's name for a node, or None to
    store it in the program."""
    marked = 0
    for node in gm.graph.nodes:
        spec = node.meta.get("spec")
        if node.op != "placeholder" or node.name.startswith(_INLINE_PREFIXES):
            continue
        if isinstance(spec, TensorSpec) and spec.const:
            tag = DEFAULT_TAG if gen_tag_fn is None else gen_tag_fn(node)
            if tag is not None:
                node.meta["constant_tag"] = tag
                marked += 1
    return PassResult(gm, marked > 0)


def external_mutable_weights_pass(gm: GraphModule, ep: ExportedProgram) -> PassResult:
    """Marks the parameters of `ep` that training changes: it updates them, or returns their gradients."""
    return _mark_parameters(gm, ep, _TRAINED)


def external_trained_weights_pass(
    gm: GraphModule, ep: ExportedProgram, gen_tag_fn: GenTagFn | None = None
) -> PassResult:
    """Marks the parameters whose gradients `ep` returns. `gen_tag_fn` is that of `external_constants_pass`, which does
    not mark them because they are state of the program."""
    return _mark_parameters(gm, ep, _TRAINED[:1], gen_tag_fn)


def _mark_parameters(
    gm: GraphModule, ep: ExportedProgram, kinds: tuple[OutputKind, ...], gen_tag_fn: GenTagFn | None = None
) -> PassResult:
    signature = ep.graph_signature
    trained = {spec.target for spec in signature.output_specs if spec.kind in kinds}
    parameters = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    marked = 0
    for node in gm.graph.nodes:
        if node.op == "placeholder" and parameters.get(node.name) in trained:
            tag = DEFAULT_TAG if gen_tag_fn is None else gen_tag_fn(node)
            if tag is not None:
                node.meta["constant_tag"] = tag
                marked += 1
    return PassResult(gm, marked > 0)


_TAG = "delegate_constant_tag"
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER)


def delegate_external_constants_pass_unlifted(
    module: torch.nn.Module, gen_tag_fn: GenTagFn | None = None
) -> PassResult:
    """Marks weights of a module before it is lowered, so that a backend stores its constants in the named file.

    `module` is the graph module of `torch.export.export(...).module()`, where weights are attributes. The mark is the
    node's `meta["custom"]["delegate_constant_tag"]`. `torch.export` drops it unless it is strict, so the weight has the
    mark, too, and `to_edge` restores it on the node.
    """
    if not isinstance(module, GraphModule):
        raise TypeError(f"expected the GraphModule that ExportedProgram.module() returns, got {type(module).__name__}")
    marked = 0
    names: dict[torch.Tensor, str] = {}  # of each weight; if it has several names, one with a mark suffices
    for node in module.graph.nodes:
        if node.op == "get_attr" and gen_tag_fn is not None:
            name, tag = str(node.target), gen_tag_fn(node)
            weight = attrgetter(name)(module)
            if isinstance(weight, torch.Tensor) and (tag is not None or weight not in names):
                other = getattr(weight, _TAG, None) if weight in names else None
                if other not in (None, tag):
                    raise ValueError(
                        f"{names[weight]} and {name} are one weight, and are marked for different files, {other!r} "
                        f"and {tag!r}. Mark both names for the same file."
                    )
                names[weight] = name
                setattr(weight, _TAG, tag)
            if tag is not None:
                node.meta["custom"] = {**node.meta.get("custom", {}), _TAG: tag}
                marked += 1
    return PassResult(module, marked > 0)


def tag_for_delegates(program: ExportedProgram, file: str) -> ExportedProgram:
    """Marks the weights of a captured program, so that a backend that gets them stores them in the file of this name.
    Weights that the program changes, and numbers in the model's code, are not marked."""
    signature = program.graph_signature
    changed = {spec.target for spec in signature.output_specs if spec.target is not None}
    weights = {spec.arg.name for spec in signature.input_specs if spec.kind in _WEIGHTS and spec.target not in changed}
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in weights:
            node.meta["custom"] = {**node.meta.get("custom", {}), _TAG: file}
    return program


def delegate_tag(node: Node) -> str | None:
    """The file that the mark of a weight names, if a backend gets the weight."""
    custom = node.meta.get("custom")
    return custom.get(_TAG) if isinstance(custom, dict) else None


def mark_placeholders_of_branches(program: ExportedProgram, constants: Mapping[Node, InputSpec]) -> None:
    """Copies the mark of a weight to the placeholders through which branches and loop bodies read the weight.

    `constants` are all placeholders of a weight, those in branches included.
    """
    tags = {spec.target: delegate_tag(node) for node, spec in constants.items() if node.graph is program.graph}
    for node, spec in constants.items():
        tag = tags.get(spec.target)
        if tag is not None and delegate_tag(node) is None:
            node.meta["custom"] = {**node.meta.get("custom", {}), _TAG: tag}


def untaken_weights_pass(gm: GraphModule) -> PassResult:
    """Marks the weights that stay on kernels although they are marked for the file of a delegate: they go to that
    file."""
    marked = 0
    for node in gm.graph.find_nodes(op="placeholder"):
        spec, tag = node.meta.get("spec"), delegate_tag(node)
        if (
            tag is not None
            and isinstance(spec, TensorSpec)
            and spec.const
            and not node.name.startswith(_INLINE_PREFIXES)
        ):
            node.meta["constant_tag"] = tag
            marked += 1
    return PassResult(gm, marked > 0)


def addresses_of_delegate_weights(program: ExportedProgram) -> set[int]:
    """The memory of the weights that are marked for the file of a delegate."""
    specs = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.kind in _WEIGHTS}
    weights = (
        program.state_dict.get(specs.get(node.name) or "")
        for node in program.graph.find_nodes(op="placeholder")
        if delegate_tag(node) is not None
    )
    return {weight.untyped_storage().data_ptr() for weight in weights if isinstance(weight, torch.Tensor)}


def restore_delegate_tags(program: ExportedProgram) -> None:
    """Marks the placeholders of weights that have the mark of `delegate_external_constants_pass_unlifted`."""
    placeholders = {node.name: node for node in program.graph.find_nodes(op="placeholder")}
    for spec in program.graph_signature.input_specs:
        weight = program.state_dict.get(spec.target or "", program.constants.get(spec.target or ""))
        tag = getattr(weight, _TAG, None)
        if tag is not None:
            node = placeholders[spec.arg.name]
            node.meta["custom"] = {_TAG: tag, **node.meta.get("custom", {})}
