# SPDX-License-Identifier: BSD-3-Clause
"""`XnnpackPartitioner`: delegates the supported parts of a model to `XnnpackBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.xnnpack.partition`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.backends.partition import calls_of, is_owned, largest_partitions, tag_partitions
from sdk.backends.transforms.constants import is_constant, is_foldable, is_shared, settled, unknown
from sdk.backends.xnnpack.operators.matrix import is_linear_in_floats, weights_of_linear
from sdk.backends.xnnpack.operators.shape import ReshapeConfig, SplitConfig
from sdk.backends.xnnpack.partition.arguments import arguments_of, pass_constants
from sdk.backends.xnnpack.partition.config import ALL_PARTITIONER_CONFIGS, ConfigPrecisionType, XNNPartitionerConfig
from sdk.backends.xnnpack.partition.flattened_inputs import quantize_flattened
from sdk.backends.xnnpack.partition.parameters import check_parameters
from sdk.backends.xnnpack.quantization import (
    DYNAMIC_NAMES,
    dynamic_source,
    integer_call,
    is_dequantize,
    is_dynamic,
    is_quantize,
    name_of,
)
from sdk.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition, tag_constant_data

COMPATIBLE = "1.4"  # the version of the original

logger = logging.getLogger("sdk.backends.xnnpack.partition")


# A part that only reshapes runs on a kernel.
_MOVES = frozenset(name for cls in (ReshapeConfig, SplitConfig) for name in cls.target_names)


_ALL_CONFIGS = {name: cls() for cls in ALL_PARTITIONER_CONFIGS for name in cls.target_names}


class XnnpackPartitioner(Partitioner):
    """Delegates the largest possible parts.

    Args:
        configs: The operators to delegate; by default all supported ones.
        config_precisions: The precisions to delegate; by default all. FP32 stands for operators on floats, STATIC_QUANT
            for int8 operators between dequantize and quantize, DYNAMIC_QUANT for layers with quantised weights and
            dynamically quantised inputs.
        per_op_mode: Whether each operator becomes a separate delegate.
        verbose: Whether the log says which nodes are delegated, and why others are not.
        compat: "1.4" delegates only what the original of that version can run. Norms, attention and other operators
            that XNNPACK lacks are then not delegated. By default they are, in a payload that only this SDK runs. A
            payload without them has the original's format.
        force_non_static_weights_for_f32_linear: Whether weights and biases of linear layers in floats remain constants
            of the program, which passes them to the delegate, so that they can be replaced, shared or trained. Such
            layers are slower.
        force_fp32_dynamic_linear: Has no effect, as in version 1.4 of the original.
    """

    def __init__(
        self,
        configs: list[type[XNNPartitionerConfig]] | None = None,
        config_precisions: ConfigPrecisionType | list[ConfigPrecisionType] | None = None,
        per_op_mode: bool = False,
        verbose: bool = False,
        compat: str | None = None,
        force_non_static_weights_for_f32_linear: bool = False,
        force_fp32_dynamic_linear: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if kwargs:
            raise TypeError(f"XnnpackPartitioner has no option {', '.join(sorted(kwargs))}")
        if compat not in (None, COMPATIBLE):
            raise ValueError(f"compat is {compat!r}; expected None or {COMPATIBLE!r}")
        if verbose:
            logger.setLevel(logging.DEBUG)
        if isinstance(config_precisions, ConfigPrecisionType):
            config_precisions = [config_precisions]
        self._per_op_mode = per_op_mode
        self._precisions = None if config_precisions is None else set(config_precisions)
        self._folds = configs is None
        self._lends_weights = force_non_static_weights_for_f32_linear
        self._configs: dict[str, XNNPartitionerConfig] = {}
        for cls in ALL_PARTITIONER_CONFIGS if configs is None else configs:
            if config_precisions is None or set(cls.supported_precision_types) & set(config_precisions):
                config = cls()
                self._configs.update((name, config) for name in config.target_names)
        self._compat = compat
        specs = [] if compat is None else [CompileSpec("compat", compat.encode())]
        self.delegation_spec = DelegationSpec(XnnpackBackend.__name__, specs)

    def prepare(self, exported_program: ExportedProgram) -> bool:
        """Changes what XNNPACK could not take: flattens the inputs of layers before they are quantised and, with
        `compat`, makes arguments of the constants that XNNPACK reads when the model runs.

        Raises:
            ValueError: int8 values have a scale or a zero point that XNNPACK does not support.
        """
        check_parameters(exported_program)
        changed = not DYNAMIC_NAMES.isdisjoint(self._configs) and quantize_flattened(exported_program)
        return bool(self._compat and pass_constants(exported_program, self._configs)) or changed

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for XNNPACK."""
        make = self.generate_per_op_partitions if self._per_op_mode else self.generate_partitions
        lent = arguments_of(exported_program)
        with settled(exported_program), unknown(exported_program, lent):
            lent |= self._lent_weights(exported_program)
            tags = tag_partitions(
                exported_program,
                lambda module: [partition.nodes for partition in make(exported_program, module)],
                "xnnpack",
                self.delegation_spec,
                lambda constant: is_shared(exported_program, constant) and constant not in lent,
            )
        logger.debug("%d partitions", len(tags))
        tag_constant_data(exported_program)
        for weight in lent:
            weight.meta.pop("delegation_tag", None)
        return PartitionResult(exported_program, tags)

    def _lent_weights(self, ep: ExportedProgram) -> set[Node]:
        """The weights that stay constants of the program."""
        layers = [node for node in calls_of(ep) if is_linear_in_floats(node)] if self._lends_weights else []
        return {weight for layer in layers for weight in weights_of_linear(layer, ep)}

    def generate_partitions(self, ep: ExportedProgram, module: GraphModule | None = None) -> list[Partition]:
        """The largest parts that XNNPACK supports, of the program's graph or of that of a branch or loop body."""
        module = ep.graph_module if module is None else module
        why = WhyNoPartition(logger)
        takes = self._taken(ep, module, why)
        # Conversions alone do not justify a delegate, except in a program that has nothing else.
        only_converts = all(self._is_free(node, ep) for node in calls_of(ep))

        def is_worth_it(partition: Partition) -> bool:
            if only_converts:
                return any(is_quantize(node) or is_dequantize(node) for node in partition.nodes)
            return not all(self._is_free(node, ep) for node in partition.nodes)

        def refuse(partitions: list[Partition]) -> bool:
            left = {*self._without_own_weights(ep, partitions, why), *self._separated_integers(partitions, why)}
            takes.difference_update(left)
            if left:
                self._discard_incomplete(takes, ep, module, why)
            return bool(left)

        partitions = largest_partitions(module, takes, refuse, is_worth_it)
        for node in takes.difference(*(partition.nodes for partition in partitions)):
            why(node, "alone it is not worth a delegate: XNNPACK takes none of its neighbours")
        return partitions

    def generate_per_op_partitions(self, ep: ExportedProgram, module: GraphModule | None = None) -> list[Partition]:
        """A part for each supported operator, of the program's graph or of that of a branch or loop body."""
        module = ep.graph_module if module is None else module
        why = WhyNoPartition(logger)
        takes = self._taken(ep, module, why)
        partitions: list[Partition] = []
        owned: set[Node] = set()
        for node in module.graph.nodes:
            if node in takes and node not in owned and self._computes(node, ep):
                calls = [node, *(call for call in self._sharing_quantization(node, ep) if call in takes - owned)]
                parts = dict.fromkeys(part for call in calls for part in self._parts_of(call, ep))
                nodes = [part for part in parts if part in takes and part not in owned]
                owned.update(nodes)
                partitions.append(Partition(len(partitions), nodes))
        while True:
            left = {*self._without_own_weights(ep, partitions, why), *self._separated_constants(ep, partitions, why)}
            if not left:
                return partitions
            # An operator remains in its part if nodes around it are removed, but not without its weights or scales.
            movable = {node for node in left if self._reads_constants(node, ep)}
            partitions = [
                Partition(partition.id, [node for node in partition.nodes if node not in left])
                for partition in partitions
                if left.isdisjoint(set(partition.nodes) - movable)
            ]

    def _computes(self, node: Node, ep: ExportedProgram) -> bool:
        """Whether a call is an operator that makes a part of its own, and not a node that only belongs to another
        call."""
        return not self._is_free(node, ep) and not self._only_with_readers(node, ep)

    def _parts_of(self, node: Node, ep: ExportedProgram) -> Iterable[Node]:
        """An operator, the nodes that only reshape its result, and the nodes that belong to its operands."""
        yield node
        for user in node.users:
            if self._is_free(user, ep) and not is_quantize(user):
                yield user
                yield from user.users if name_of(user) in SplitConfig.target_names else ()  # a list cannot be a result
        yield from self._belonging(node, ep)

    def _sharing_quantization(self, node: Node, ep: ExportedProgram) -> Iterable[Node]:
        """Other layers that read the same dynamically quantised input, such as those for queries, keys and values. The
        nodes that quantise it cannot be in several parts. Layers that also read another result are left out, because
        that result may depend on `node`."""
        for quantized in (operand for operand in node.all_input_nodes if _quantizes_dynamically(operand)):
            for reader in _readers_of_chain(quantized):
                others = [operand for operand in reader.all_input_nodes if not _quantizes_dynamically(operand)]
                if reader is not node and all(is_constant(ep, operand) for operand in others):
                    yield reader

    def _belonging(self, node: Node, ep: ExportedProgram) -> Iterable[Node]:
        """The nodes that compute a call's weights from constants, and those that quantise its operands and its
        result."""
        for operand in node.all_input_nodes:
            if operand.op == "call_function" and (
                self._reads_constants(operand, ep) or _quantizes_dynamically(operand)
            ):
                yield operand
                yield from self._belonging(operand, ep)
        config = _ALL_CONFIGS.get(name_of(node))
        call = None if config is None else integer_call(node, ep, config)
        if call is not None:
            yield from (operand for operand in node.all_input_nodes if is_dequantize(operand))
            yield from (*call.covered, call.result)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that XNNPACK has and the exporter would decompose."""
        whole = []
        for name, config in self._configs.items():
            if config.keep_whole:
                namespace, operator, overload = name.split(".")
                packet = getattr(getattr(torch.ops, namespace), operator, None)
                if packet is not None:  # those of torchao exist only if it is imported
                    whole.append(getattr(packet, overload))

        def is_taken(node: Node) -> bool:
            config = self._configs.get(name_of(node))
            # Constants have another form before lowering, so this does not check them; refusal() does so later.
            if config is None or (self._compat and config.needs_step(node)):
                return False
            return config.refusal_of_call(node, ep) is None

        return whole, is_taken

    def _taken(self, ep: ExportedProgram, module: GraphModule, why: WhyNoPartition) -> set[Node]:
        takes: set[Node] = set()
        calls = {} if self._precisions is None else self._integer_calls(ep, module)
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            if self._precisions is not None and not self._reads_constants(node, ep):
                precision = calls.get(node, ConfigPrecisionType.FP32)
                if precision not in self._precisions:
                    why(node, f"its precision is {precision.name}, which the partitioner was told not to delegate")
                    continue
            if self._reads_constants(node, ep):
                takes.add(node)
                continue
            reason = self._refusal(node, ep)
            if reason is None:
                takes.add(node)
            else:
                why(node, reason)
        self._discard_incomplete(takes, ep, module, why)
        return takes

    def _discard_incomplete(
        self, takes: set[Node], ep: ExportedProgram, module: GraphModule, why: WhyNoPartition
    ) -> None:
        """Removes nodes that need the whole of a group of which some node is not taken."""
        # In reverse order, because a node that depends on its readers may be read by another such node.
        for node in reversed(module.graph.nodes):
            if node in takes and self._only_with_readers(node, ep) and not takes.issuperset(node.users):
                takes.discard(node)
                why(node, "it is read outside the delegate")
        # A getitem is taken only together with its call.
        for node in list(takes):
            if name_of(node) == "getitem" and node.args[0] not in takes:
                takes.discard(node)

    def _integer_calls(self, ep: ExportedProgram, module: GraphModule) -> dict[Node, ConfigPrecisionType]:
        """The precision of each node that does not compute in floats."""
        found = {}
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            config = _ALL_CONFIGS.get(name_of(node))
            if is_dynamic(node):
                found[node] = ConfigPrecisionType.DYNAMIC_QUANT
            elif is_quantize(node) or is_dequantize(node):
                found[node] = ConfigPrecisionType.STATIC_QUANT
            elif config is not None and (call := integer_call(node, ep, config)) is not None:
                found.update(dict.fromkeys(call.covered, ConfigPrecisionType.STATIC_QUANT))
        return found

    def _refusal(self, node: Node, ep: ExportedProgram) -> str | None:
        config = self._configs.get(name_of(node))
        if config is None:
            return "XNNPACK has no such operator"
        reason = config.refusal(node, ep)
        if reason is None and self._compat and config.needs_step(node):
            return f"the original has no node for it in version {self._compat}"
        if reason is None and self._compat and config.constants_read(node, ep):
            return "XNNPACK reads a constant of it when the model runs, and the original may free that before"
        return reason

    def _reads_constants(self, node: Node, ep: ExportedProgram) -> bool:
        """Whether a call depends only on constants and is computed ahead of time. The original's format can store the
        result as a constant. Partitioners for a subset of the operators do not do this."""
        return self._folds and is_foldable(ep, node)

    def _only_with_readers(self, node: Node, ep: ExportedProgram) -> bool:
        """Whether a node must be in the same part as all its readers: constants, integers, and tensors that are split
        where they are read."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return name_of(node) == "aten.split_with_sizes_copy.default" or is_dynamic(node)
        if _quantizes_dynamically(node):
            return True
        return value.dtype == torch.int64 or self._reads_constants(node, ep)

    def _is_free(self, node: Node, ep: ExportedProgram) -> bool:
        """Whether a call alone does not justify a delegate."""
        if is_quantize(node) or is_dequantize(node):
            return True
        return name_of(node) == "getitem" or self._reads_constants(node, ep) or name_of(node) in _MOVES

    def _without_own_weights(
        self, ep: ExportedProgram, partitions: Iterable[Partition], why: WhyNoPartition
    ) -> Iterable[Node]:
        """Nodes whose weights are also used outside their part, so that the delegate cannot own them."""
        part_of = {node: partition.id for partition in partitions for node in partition.nodes}
        for node, part in part_of.items():
            if any(_quantizes_dynamically(o) and part_of.get(o) != part for o in node.all_input_nodes):
                why(node, "its scale is found in another part")
                yield node
            config = self._configs.get(name_of(node))
            folds = self._reads_constants(node, ep)
            needs_own = folds or (config is not None and config.weights)
            if self._lends_weights and (is_linear_in_floats(node) or any(map(is_linear_in_floats, node.users))):
                continue
            for operand in node.all_input_nodes:
                if folds and operand.op == "call_function" and part_of.get(operand) != part:
                    why(node, f"{operand} is computed by another part")
                    yield node
                elif needs_own and is_constant(ep, operand) and not is_owned(ep, operand, part, part_of):
                    why(node, f"{operand} is also used by a part that XNNPACK does not take, or by another one")
                    yield node
            if not folds and config is not None and (reason := _refusal_as_a_part(node, ep, config, part_of)):
                why(node, reason)
                yield node

    def _separated_integers(self, partitions: Iterable[Partition], why: WhyNoPartition) -> Iterable[Node]:
        """Views of integers that several parts read. A delegate can take integers but not return them."""
        for node in _read_elsewhere(partitions):
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and value.dtype == torch.int64:
                why(node, "several parts read it, and XNNPACK returns no integers")
                yield node

    def _separated_constants(
        self, ep: ExportedProgram, partitions: Iterable[Partition], why: WhyNoPartition
    ) -> Iterable[Node]:
        """Results of constants that several parts read. One part would have to run before the others, but may depend on
        their results."""
        for node in _read_elsewhere(partitions):
            if self._reads_constants(node, ep):
                why(node, "several parts read it")
                yield node


def _refusal_as_a_part(
    node: Node, ep: ExportedProgram, config: XNNPartitionerConfig, part_of: Mapping[Node, int]
) -> str | None:
    """Why a node cannot be in its part: it takes a constant that the delegate has to know, and another part computes it
    or uses it, too."""

    def is_unknown(operand: Node) -> bool:
        if not is_constant(ep, operand):
            return False
        if operand.op == "call_function":
            return part_of.get(operand) != part_of[node]
        return not is_owned(ep, operand, part_of[node], part_of)

    operands = [operand for operand in node.all_input_nodes if is_unknown(operand)]
    if not operands:
        return None
    with unknown(ep, operands):
        reason = config.refusal(node, ep)
    return None if reason is None else f"it reads {', '.join(map(str, operands))} from outside its part: {reason}"


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Delegates only what computes in float32."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only what is quantised, statically or dynamically."""

    def __init__(self) -> None:
        super().__init__(config_precisions=[ConfigPrecisionType.STATIC_QUANT, ConfigPrecisionType.DYNAMIC_QUANT])


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only dynamically quantised layers."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT)


def _is_part_of_quantization(node: Node) -> bool:
    """Whether a node computes scales or quantises with them."""
    source = node.args[0] if name_of(node) == "getitem" else node
    return name_of(source) in DYNAMIC_NAMES


def _quantizes_dynamically(node: Node) -> bool:
    """Whether a node is a step of dynamic quantisation, from choose_qparams to dequantize."""
    return _is_part_of_quantization(node) or dynamic_source(node) is not None


def _readers_of_chain(quantized: Node) -> list[Node]:
    """The readers of the dynamically quantised tensor that `quantized` helps to compute."""
    chain, pending = {quantized: None}, [quantized]
    while pending:
        step = pending.pop()
        near = [n for n in (*step.all_input_nodes, *step.users) if n not in chain and _quantizes_dynamically(n)]
        chain.update(dict.fromkeys(near))
        pending += near
    return list(dict.fromkeys(user for step in chain for user in step.users if user not in chain))


def _read_elsewhere(partitions: Iterable[Partition]) -> Iterable[Node]:
    """Nodes of a part that another part or the rest of the program reads."""
    for partition in partitions:
        for node in partition.nodes:
            if any(user not in partition.nodes for user in node.users):
                yield node
