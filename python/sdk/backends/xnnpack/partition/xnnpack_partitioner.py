# SPDX-License-Identifier: BSD-3-Clause
"""`XnnpackPartitioner`: delegates the supported parts of a model to `XnnpackBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.xnnpack.partition`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.passes.infra.partitioner import Partition

from sdk.backends.graph.names import name_of, overloads
from sdk.backends.partition import Divide, SupportPartitioner, divide
from sdk.backends.transforms.constants import settled, unknown
from sdk.backends.xnnpack.partition.arguments import arguments_of, pass_constants
from sdk.backends.xnnpack.partition.config import (
    ALL_PARTITIONER_CONFIGS,
    ConfigPrecisionType,
    XNNPartitionerConfig,
    table_of,
)
from sdk.backends.xnnpack.partition.flattened_inputs import quantize_flattened
from sdk.backends.xnnpack.partition.parameters import check_parameters
from sdk.backends.xnnpack.partition.per_operator import divide_by_operator
from sdk.backends.xnnpack.partition.support import XnnpackSupport
from sdk.backends.xnnpack.quantization import DYNAMIC_NAMES
from sdk.backends.xnnpack.xnnpack_preprocess import XnnpackBackend
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, PartitionResult
from sdk.exir.backend.utils import WhyNoPartition

COMPATIBLE = "1.4"  # the version of ExecuTorch


class XnnpackPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        configs: The operators to delegate; by default all supported ones.
        config_precisions: The precisions to delegate; by default all. FP32 means operators on floats, STATIC_QUANT
            int8 operators between dequantize and quantize, and DYNAMIC_QUANT layers with quantised weights and
            dynamically quantised inputs.
        per_op_mode: Whether each operator becomes a separate delegate.
        verbose: Whether the log says how many partitions there are, and why the other nodes are not delegated.
        compat: "1.4" delegates only calls that ExecuTorch 1.4 can run. Norms, attention and other operators
            that XNNPACK lacks are then not delegated. By default they are, in a payload that only this SDK runs. A
            payload without them has ExecuTorch's format.
        force_non_static_weights_for_f32_linear: Whether weights and biases of linear layers in floats remain constants
            of the program, which passes them to the delegate, so that they can be replaced, shared or trained. Such
            layers are slower.
        force_fp32_dynamic_linear: Has no effect, as in ExecuTorch 1.4.
    """

    prefix = "xnnpack"
    logger = logging.getLogger("sdk.backends.xnnpack.partition")

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
            self.logger.setLevel(logging.DEBUG)
        if isinstance(config_precisions, ConfigPrecisionType):
            config_precisions = [config_precisions]
        self._per_op_mode = per_op_mode
        self._precisions = None if config_precisions is None else set(config_precisions)
        self._folds = configs is None
        self._lends_weights = force_non_static_weights_for_f32_linear
        chosen = [
            cls
            for cls in (ALL_PARTITIONER_CONFIGS if configs is None else configs)
            if config_precisions is None or set(cls.supported_precision_types) & set(config_precisions)
        ]
        self._configs = table_of(chosen, replaces=True)
        self._compat = compat
        specs = [] if compat is None else [CompileSpec("compat", compat.encode())]
        self.delegation_spec = DelegationSpec(XnnpackBackend.__name__, specs)

    def prepare(self, exported_program: ExportedProgram) -> bool:
        """Rewrites calls that XNNPACK could not take: flattens the inputs of layers before they are quantised and, with
        `compat`, turns the constants that XNNPACK reads when the model runs into arguments.

        Raises:
            ValueError: int8 values have a scale or a zero point that XNNPACK does not support.
        """
        check_parameters(exported_program)
        changed = not DYNAMIC_NAMES.isdisjoint(self._configs) and quantize_flattened(exported_program)
        return bool(self._compat and pass_constants(exported_program, self._configs)) or changed

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes for XNNPACK."""
        with settled(exported_program), unknown(exported_program, arguments_of(exported_program)):
            result = super().partition(exported_program)
        self.logger.debug("%d partitions", len(result.partition_tags))
        return result

    @property
    def parts_of(self) -> Divide:
        """Makes the partitions of a graph."""
        return divide_by_operator if self._per_op_mode else divide

    def support(self, program: ExportedProgram) -> XnnpackSupport:
        """Returns the object that decides which calls of a program XNNPACK gets."""
        return XnnpackSupport(program, self._configs, self._precisions, self._compat, self._folds, self._lends_weights)

    def generate_partitions(self, ep: ExportedProgram) -> list[Partition]:
        """The largest parts of the program's graph that XNNPACK supports."""
        return self._partitions(ep, divide)

    def generate_per_op_partitions(self, ep: ExportedProgram) -> list[Partition]:
        """A part for each supported operator of the program's graph."""
        return self._partitions(ep, divide_by_operator)

    def _partitions(self, ep: ExportedProgram, parts_of: Divide) -> list[Partition]:
        with settled(ep):
            parts = parts_of(ep.graph_module, self.support(ep), WhyNoPartition(self.logger))
        return [Partition(number, nodes) for number, nodes in enumerate(parts)]

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that XNNPACK has and the exporter would decompose."""
        whole = overloads(name for name, config in self._configs.items() if config.keep_whole)

        def is_taken(node: Node) -> bool:
            config = self._configs.get(name_of(node))
            # Constants have another form before lowering, so this does not check them; refusal() does so later.
            if config is None or (self._compat and config.needs_step(node)):
                return False
            return config.refusal_of_call(node, ep) is None

        return whole, is_taken


class XnnpackFloatingPointPartitioner(XnnpackPartitioner):
    """Delegates only operators on floats (`ConfigPrecisionType.FP32`)."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.FP32)


class XnnpackQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only operators that are quantised, statically or dynamically."""

    def __init__(self) -> None:
        super().__init__(config_precisions=[ConfigPrecisionType.STATIC_QUANT, ConfigPrecisionType.DYNAMIC_QUANT])


class XnnpackDynamicallyQuantizedPartitioner(XnnpackPartitioner):
    """Delegates only dynamically quantised layers."""

    def __init__(self) -> None:
        super().__init__(config_precisions=ConfigPrecisionType.DYNAMIC_QUANT)
