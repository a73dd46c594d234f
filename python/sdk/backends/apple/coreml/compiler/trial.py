# SPDX-License-Identifier: BSD-3-Clause
"""Finds out whether coremltools converts a node, by converting the node alone, without passes. Caches the answers for
equal calls on tensors of equal shapes."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node

from sdk.backends.apple.coreml._coremltools import coremltools
from sdk.backends.apple.coreml.compiler import torch_ops
from sdk.backends.apple.coreml.compiler.conversion import cast_of, example_of, quiet, stated
from sdk.backends.graph.shapes import is_tensor
from sdk.backends.transforms.constants import get_constant
from sdk.exir.graph.programs import assemble

_SMALL = 64  # elements: the values of larger constants do not decide whether a call converts
_CAST = (torch.uint8, torch.int8, torch.int16)  # dtypes that no parameter of coremltools' converter has
_LENGTH = 300  # characters of an error of coremltools in a reason


class Trials:
    """Converts single nodes of a program."""

    def __init__(self, program: ExportedProgram, constants: bool = True) -> None:
        """`constants` tells whether the operators get the values of weights."""
        torch_ops.register()
        self._program = program
        self._answers: dict[Any, str | None] = {}
        self._knows_constants = constants
        self._constants: dict[Node, torch.Tensor | None] = {}
        # torchao widens the indices of a codebook before it looks them up; their values stay the same.
        for node in program.graph.nodes:
            if node.op == "call_function" and "dequantize_codebook" in str(node.target):
                widened, stored = node.args[0], node.args[0].all_input_nodes
                if len(stored) == 1:
                    self._constants[widened] = self._constant(stored[0])

    def _constant(self, node: Node) -> torch.Tensor | None:
        """The value of a weight, if operators get values of weights."""
        if node not in self._constants:
            is_given = self._knows_constants and node.op in ("placeholder", "get_attr")
            self._constants[node] = get_constant(self._program, node) if is_given else None
        return self._constants[node]

    def error(self, node: Node, target: Any) -> str | None:
        """Returns why coremltools does not convert a node for a deployment target, or None if it does."""
        nodes = _with_sizes(node)
        key = (self._key(nodes), target)
        if key not in self._answers:
            self._answers[key] = self._try(nodes, target)
        return self._answers[key]

    def first(self, node: Node, targets: Iterable[Any]) -> tuple[Any, str | None]:
        """Returns the first of the deployment targets for which a node converts, or None and the reason for the last
        target."""
        reason: str | None = "there is no deployment target to convert it for"
        for target in targets:
            reason = self.error(node, target)
            if reason is None:
                return target, None
        return None, reason

    def _try(self, nodes: list[Node], target: Any) -> str | None:
        coremltools()
        from coremltools.converters.mil.frontend.torch.converter import TorchConverter

        try:
            with quiet():
                TorchConverter(self._program_of(nodes), opset_version=target).convert()
        except Exception as error:  # coremltools raises what its operators raise: AttributeError, IndexError and others
            return _words(error)
        return None

    def _key(self, nodes: list[Node]) -> Any:
        names = {node: f"%{i}" for i, node in enumerate(nodes)}

        def of(argument: Any) -> Any:
            if not isinstance(argument, Node):
                return repr(argument)
            if argument in names:
                return names[argument]
            value = argument.meta.get("val")
            constant = self._constant(argument)
            content = None
            if (
                constant is not None
                and constant.numel() <= _SMALL
                and type(constant) in (torch.Tensor, torch.nn.Parameter)
            ):
                content = str(constant.tolist())
            names[argument] = f"%{len(names)}"
            return (names[argument], _describe(value), constant is not None, content)

        return tuple(
            (
                str(node.target),
                str(torch.fx.node.map_aggregate((node.args, node.kwargs), of)),
                str(torch.utils._pytree.tree_map(_describe, node.meta.get("val"))),
            )
            for node in nodes
        )

    def _program_of(self, nodes: list[Node]) -> ExportedProgram:
        graph, mapping = Graph(), {}
        inputs: list[InputSpec] = []
        constants: dict[str, Any] = {}
        members = set(nodes)
        for operand in dict.fromkeys(o for node in nodes for o in node.all_input_nodes if o not in members):
            new = graph.placeholder(operand.name)
            new.name = operand.name
            new.meta = {"val": _readable(operand.meta.get("val"))}
            mapping[operand] = new
            argument = TensorArgument(new.name)
            if (constant := self._constant(operand)) is not None:
                constants[operand.name] = constant
                inputs.append(InputSpec(InputKind.CONSTANT_TENSOR, argument, operand.name))
            else:
                inputs.append(InputSpec(InputKind.USER_INPUT, argument, None))
        for operand, new in list(mapping.items()):
            value = new.meta["val"]
            if self._constant(operand) is None and getattr(value, "dtype", None) in _CAST:
                new.meta = {"val": stated(torch.int32, value.shape)}
                mapping[operand] = cast_of(new, value)
        for node in nodes:
            mapping[node] = graph.node_copy(node, lambda n: mapping[n])
            mapping[node].name = node.name
        tensors = [mapping[node] for node in nodes if is_tensor(node)]
        graph.output(tuple(tensors))
        outputs = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in tensors]
        signature = ExportGraphSignature(inputs, outputs)
        module = GraphModule(torch.nn.Module(), graph)
        program = assemble(self._program, module, signature, state_dict={}, constants=constants)
        program._verifiers = [_Edge]  # coremltools reads the dialect here
        return program


class _Edge:
    dialect = "EDGE"


def _with_sizes(node: Node) -> list[Node]:
    """A node, the calls that compute its number arguments, and the `getitem` calls on its list of tensors, in
    order."""
    found: dict[Node, None] = {}

    def add(each: Node) -> None:
        for operand in each.all_input_nodes:
            if operand not in found and operand.op == "call_function" and not is_tensor(operand):
                add(operand)
        found[each] = None

    add(node)
    if not is_tensor(node):
        for user in node.users:
            if user.target is operator.getitem:
                found[user] = None
    return list(found)


def _readable(value: Any) -> Any:
    """Returns a tensor that replaces an operand. Sizes that are computed from other sizes have the value of the example
    inputs."""
    if not isinstance(value, torch.Tensor):
        return value
    return stated(value.dtype, [size if _is_symbol(size) else example_of(size) for size in value.shape])


def _is_symbol(size: Any) -> bool:
    return not isinstance(size, int) and size.node.expr.is_symbol


def _describe(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(str(size) for size in value.shape))
    return str(value)


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(r"^Unsupported fx node .*, kind (\S+)$", r"Core ML has no operator \1", text)
    text = re.sub(r"\b([a-z][a-z0-9_]*?)_\d+\b", r"\1", text)  # coremltools numbers names, within a process
    return text if len(text) <= _LENGTH else text[:_LENGTH] + "..."
