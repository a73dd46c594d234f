# SPDX-License-Identifier: BSD-3-Clause
"""Turns the constants that XNNPACK reads whenever the model runs into arguments of delegates.

XNNPACK packs the weights of layers when it builds its graph, and reads other constants in place. ExecuTorch's
runtimes free the named data of a delegate once the graph is built: version 1.3 all of it, 1.4 and 1.5 the data that
layers pack. Constants that are read later therefore belong to the program, which passes them, as in ExecuTorch's
programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_dequantize
from sdk.backends.transforms.constants import get_constant, is_foldable, settled, unknown
from sdk.backends.transforms.fold_affine import fold_affine
from sdk.backends.xnnpack.operators.image import BatchNormConfig
from sdk.backends.xnnpack.operators.operator import XNNPartitionerConfig
from sdk.backends.xnnpack.quantization import integer_call
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph.constants import add_constant
from sdk.exir.graph.fake import fake_mode_of

_MARK = "xnnpack_argument"
_PRODUCT, _SUM = exir_ops.edge.aten.mul.Tensor, exir_ops.edge.aten.add.Tensor


def arguments_of(program: ExportedProgram) -> set[Node]:
    """The constants that `pass_constants` has made arguments."""
    return {node for node in program.graph.nodes if node.op == "placeholder" and node.meta.get(_MARK)}


def pass_constants(program: ExportedProgram, configs: Mapping[str, XNNPartitionerConfig]) -> bool:
    """Gives calls of the operators of `configs` a separate constant for each operand that is known when the model is
    compiled and that XNNPACK does not pack. The calls that computed the operand are removed. Edits the graph of
    `program`, but not the graphs of branches and loop bodies.

    Returns:
        Whether it changed the graph.
    """
    before = len(program.graph.nodes)
    if "aten.convolution.default" in configs:
        fold_affine(program)  # before constants become arguments, whose values the backend does not know
    mode = fake_mode_of(program.graph_module)
    norms = _write_norms(program, mode, configs)
    reads = _constants_read(program, configs)
    made: dict[Node, Node] = {}
    for read in reads:
        if read.source not in made:
            name = f"{read.source.name}_argument"
            made[read.source] = add_constant(program, mode, name, read.tensor.detach().contiguous())
            made[read.source].meta[_MARK] = True
        argument = made[read.source]
        if read.operand is not read.source:
            if read.operand not in made:
                made[read.operand] = _copied(read.operand, argument)
            argument = made[read.operand]
        read.call.replace_input_with(read.operand, argument)
    _remove_unread(program, [read.operand for read in reads])
    program.graph_module.recompile()
    return bool(reads or norms) or len(program.graph.nodes) != before


def _write_norms(program: ExportedProgram, mode: FakeTensorMode, configs: Mapping[str, XNNPartitionerConfig]) -> bool:
    """Replaces batch norms without spatial dimensions, or with one, by mul and add. Returns whether there are any."""
    norms: list[tuple[Node, tuple[torch.Tensor, torch.Tensor]]] = []
    if not configs.keys() >= {_PRODUCT.__name__, _SUM.__name__}:
        return False
    with settled(program):
        for node in program.graph.nodes:
            config = configs.get(name_of(node))
            if not isinstance(config, BatchNormConfig) or config.packed(node, program):
                continue
            if config.refusal(node, program) is None:
                norms.append((node, config.factors(program, node)))
    for node, factors in norms:
        made = node.args[0]
        for result in list(node.users):  # refusal() has checked that there is only the first
            for operator, factor in zip((_PRODUCT, _SUM), factors, strict=True):
                constant = factor.to(result.meta["val"].dtype).reshape(1, -1, *[1] * (result.meta["val"].dim() - 2))
                argument = add_constant(program, mode, f"{node.name}_argument", constant)
                argument.meta[_MARK] = True
                with program.graph.inserting_before(result):
                    made = program.graph.call_function(operator, (made, argument))
                made.meta = dict(result.meta)
            result.replace_all_uses_with(made)
            program.graph.erase_node(result)
        program.graph.erase_node(node)
    return bool(norms)


@dataclass(frozen=True)
class _Read:
    """A call that reads a constant when the model runs."""

    call: Node
    operand: Node
    source: Node
    """The operand; or the integers that it dequantises, if the call computes in int8."""
    tensor: torch.Tensor
    """The tensor of `source`."""


def _constants_read(program: ExportedProgram, configs: Mapping[str, XNNPartitionerConfig]) -> list[_Read]:
    found = []
    with settled(program):
        for node in program.graph.nodes:
            config = configs.get(name_of(node)) if node.op == "call_function" else None
            if config is None or is_foldable(program, node) or config.refusal(node, program) is not None:
                continue
            constants = [operand for operand in config.constants_read(node, program) if isinstance(operand, Node)]
            with unknown(program, constants):
                if config.refusal(node, program) is not None:
                    continue
            in_integers = integer_call(node, program, config) is not None
            for operand in constants:
                source = operand.args[0] if in_integers and is_dequantize(operand) else operand
                tensor = get_constant(program, source)
                assert isinstance(source, Node) and tensor is not None
                found.append(_Read(node, operand, source, tensor))
    return found


def _copied(call: Node, operand: Node) -> Node:
    """A copy of a call with another first operand."""
    with call.graph.inserting_after(call):
        new = call.graph.node_copy(call)
    new.args = (operand, *call.args[1:])
    return new


def _remove_unread(program: ExportedProgram, calls: list[Node]) -> None:
    """Removes the calls that nothing reads, and then the nodes that only these calls read."""
    pending = list(dict.fromkeys(calls))
    while pending:
        call = pending.pop()
        if call.op == "call_function" and not call.users:
            pending += call.all_input_nodes
            program.graph.erase_node(call)
