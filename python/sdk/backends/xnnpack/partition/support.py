# SPDX-License-Identifier: BSD-3-Clause
"""Decides which calls XNNPACK gets, and gives the reasons for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import dynamic_source, is_dequantize, is_quantize
from sdk.backends.operators import Operators
from sdk.backends.partition import Support, calls_of, is_owned
from sdk.backends.transforms.constants import is_constant, is_foldable, unknown
from sdk.backends.xnnpack.operators.matrix import is_linear_in_floats, weights_of_linear
from sdk.backends.xnnpack.operators.shape import ReshapeConfig, SplitConfig
from sdk.backends.xnnpack.partition.arguments import arguments_of
from sdk.backends.xnnpack.partition.config import OPERATORS, ConfigPrecisionType, XNNPartitionerConfig
from sdk.backends.xnnpack.quantization import DYNAMIC_NAMES, integer_call, is_dynamic

# A partition that only reshapes runs on a kernel.
_MOVES = frozenset(name for cls in (ReshapeConfig, SplitConfig) for name in cls.target_names)


class XnnpackSupport(Support):
    """Decides which calls of a program XNNPACK gets.

    Args:
        program: The program.
        configs: The operators to delegate, by name.
        precisions: The precisions to delegate; None for all.
        compat: The version of ExecuTorch that runs the program; None if only this SDK does.
        folds: Whether calls that depend only on constants are computed ahead of time. ExecuTorch's format can store
        the result as a constant. Partitioners for a subset of the operators do not do this.
        lends_weights: Whether weights of linear layers in floats remain constants of the program.
    """

    title = "XNNPACK"

    def __init__(
        self,
        program: ExportedProgram,
        configs: Operators[XNNPartitionerConfig],
        precisions: Collection[ConfigPrecisionType] | None = None,
        compat: str | None = None,
        folds: bool = True,
        lends_weights: bool = False,
    ) -> None:
        super().__init__(program)
        self._configs, self._precisions, self._compat = configs, precisions, compat
        self._folds, self._lends_weights = folds, lends_weights
        layers = [node for node in calls_of(program) if is_linear_in_floats(node)] if lends_weights else []
        # The constants that the program passes to delegates.
        self._lent = arguments_of(program).union(*(weights_of_linear(layer, program) for layer in layers))
        self._in_integers: dict[Graph, dict[Node, ConfigPrecisionType]] = {}

    def refusal(self, node: Node) -> str | None:
        if self.reads_constants(node):
            return None
        if self._precisions is not None:
            precision = self._precisions_of(node.graph).get(node, ConfigPrecisionType.FP32)
            if precision not in self._precisions:
                return f"its precision is {precision.name}, which the partitioner was told not to delegate"
        reason = self._configs.refusal(node, self.program)
        if reason is not None or not self._compat:
            return reason
        config = self._configs[name_of(node)]
        if config.needs_step(node):
            return f"the original has no node for it in version {self._compat}"
        if config.constants_read(node, self.program):
            return "XNNPACK reads a constant of it when the model runs, and the original may free that before"
        return None

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        yield from self.without_own_weights(nodes, part_of)
        # A delegate can take integers but not return them.
        for node in read_elsewhere(nodes):
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and value.dtype == torch.int64:
                yield node, "several parts read it, and XNNPACK returns no integers"

    def is_free(self, node: Node) -> bool:
        if is_quantize(node) or is_dequantize(node):
            return True
        return name_of(node) == "getitem" or self.reads_constants(node) or name_of(node) in _MOVES

    def is_copied(self, constant: Node) -> bool:
        return constant not in self._lent and super().is_copied(constant)

    def finish_tags(self) -> None:
        for constant in self._lent:
            constant.meta.pop("delegation_tag", None)

    def is_worth_it(self, nodes: Sequence[Node]) -> bool:
        """Conversions by themselves do not justify a delegate, except in a program that has only conversions."""
        if self.has_only_free_calls:
            return any(is_quantize(node) or is_dequantize(node) for node in nodes)
        return super().is_worth_it(nodes)

    def _precisions_of(self, graph: Graph) -> dict[Node, ConfigPrecisionType]:
        """The precision of each node of a graph that does not compute in floats."""
        if graph in self._in_integers:
            return self._in_integers[graph]
        found = self._in_integers[graph] = {}
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            config = OPERATORS.get(name_of(node))
            if is_dynamic(node):
                found[node] = ConfigPrecisionType.DYNAMIC_QUANT
            elif is_quantize(node) or is_dequantize(node):
                found[node] = ConfigPrecisionType.STATIC_QUANT
            elif config is not None and (call := integer_call(node, self.program, config)) is not None:
                found.update(dict.fromkeys(call.covered, ConfigPrecisionType.STATIC_QUANT))
        return found

    def reads_constants(self, node: Node) -> bool:
        """Whether a call depends only on constants and is computed ahead of time."""
        return self._folds and is_foldable(self.program, node)

    def is_only_with_readers(self, node: Node) -> bool:
        """True for constants, integers, lists from splits, and steps of dynamic quantisation."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return name_of(node) == "aten.split_with_sizes_copy.default" or is_dynamic(node)
        if quantizes_dynamically(node):
            return True
        return value.dtype == torch.int64 or self.reads_constants(node)

    def without_own_weights(self, nodes: Iterable[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """Returns nodes whose weights are also used outside their partition, so that the delegate cannot own them."""
        for node in nodes:
            part = part_of[node]
            if any(quantizes_dynamically(o) and part_of.get(o) != part for o in node.all_input_nodes):
                yield node, "its scale is found in another part"
            config = self._configs.get(name_of(node))
            folds = self.reads_constants(node)
            needs_own = folds or (config is not None and config.weights)
            if self._lends_weights and (is_linear_in_floats(node) or any(map(is_linear_in_floats, node.users))):
                continue
            if needs_own:
                yield from ((node, reason) for reason in self.without_constants(node, part_of, folds))
            if not folds and config is not None and (reason := self._refusal_as_a_part(node, config, part_of)):
                yield node, reason

    def _refusal_as_a_part(self, node: Node, config: XNNPartitionerConfig, part_of: Mapping[Node, int]) -> str | None:
        """Returns why a node cannot be in its partition: it needs a constant that the delegate has to know, and another
        partition computes or uses that constant, too."""

        def is_unknown(operand: Node) -> bool:
            if not is_constant(self.program, operand):
                return False
            if operand.op == "call_function":
                return part_of.get(operand) != part_of[node]
            return not is_owned(self.program, operand, part_of[node], part_of)

        operands = [operand for operand in node.all_input_nodes if is_unknown(operand)]
        if not operands:
            return None
        with unknown(self.program, operands):
            reason = config.refusal(node, self.program)
        return None if reason is None else f"it reads {', '.join(map(str, operands))} from outside its part: {reason}"


def quantizes_dynamically(node: Node) -> bool:
    """Whether a node is a step of dynamic quantisation, from choose_qparams to dequantize."""
    source = node.args[0] if name_of(node) == "getitem" else node
    return name_of(source) in DYNAMIC_NAMES or dynamic_source(node) is not None


def read_elsewhere(nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes of a partition that another partition or the rest of the program reads."""
    inside = set(nodes)
    return [node for node in nodes if not inside.issuperset(node.users)]
