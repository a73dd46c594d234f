# SPDX-License-Identifier: BSD-3-Clause
"""`CoreMLPartitioner`: delegates the supported parts of a model to `CoreMLBackend`. The reason for every other node is
in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.apple.coreml.partition`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from sdk.backends.apple.coreml.compiler.coreml_preprocess import CoreMLBackend
from sdk.backends.apple.coreml.compiler.operators import is_refused_whole
from sdk.backends.apple.coreml.compiler.settings import settings_of
from sdk.backends.apple.coreml.partition.support import CoreMLSupport
from sdk.backends.graph.names import name_of
from sdk.backends.partition import SupportPartitioner
from sdk.exir.backend._messages import source_of
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec


class CoreMLPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        skip_ops_for_coreml_delegation: Names of operators that stay outside, such as `aten.add.Tensor`.
        compile_specs: Options for Core ML (`CoreMLBackend.generate_compile_specs`).
        take_over_mutable_buffer: Whether buffers that the model changes become states of Core ML, which needs iOS 18.
            Otherwise they are inputs and outputs of the delegate. Buffers that are not floats, that do not start at
            zero or that are used outside stay outside in any case.
        lower_full_graph: Whether an operator that Core ML does not take is an error.
        take_over_constant_data: Whether the delegate owns the weights. Otherwise they are inputs.
    """

    prefix = "coreml"
    logger = logging.getLogger("sdk.backends.apple.coreml.partition")

    def __init__(
        self,
        *,
        skip_ops_for_coreml_delegation: list[str] | None = None,
        compile_specs: list[CompileSpec] | None = None,
        take_over_mutable_buffer: bool | None = True,
        lower_full_graph: bool = False,
        take_over_constant_data: bool = True,
    ) -> None:
        super().__init__()
        specs = CoreMLBackend.generate_compile_specs() if compile_specs is None else list(compile_specs)
        self._settings = settings_of(specs)
        if self._settings.enumerated and not lower_full_graph:
            raise ValueError(
                "enumerated shapes need lower_full_graph=True: they describe the inputs of the whole model"
            )
        if not take_over_constant_data and self._settings.quantizer is not None:
            raise ValueError("op_linear_quantizer_config quantises weights, which needs take_over_constant_data=True")
        self._skipped = frozenset(skip_ops_for_coreml_delegation or ())
        self._takes_state = bool(take_over_mutable_buffer)
        self._takes_all = lower_full_graph
        self._takes_constants = take_over_constant_data
        self.delegation_spec = DelegationSpec(CoreMLBackend.__name__, specs)

    def report(self, refused: Mapping[Node, str]) -> None:
        """Logs the calls that are left.

        Raises:
            ValueError: `lower_full_graph` is set, and Core ML does not take a node. The message lists the first such
                nodes, with the lines of the model that call them.
        """
        super().report(refused)
        if refused and self._takes_all:
            shown = [f"{n.name} ({name_of(n)}): {reason}{source_of(n)}" for n, reason in list(refused.items())[:5]]
            raise ValueError(
                f"lower_full_graph=True, but Core ML does not take {len(refused)} of the operators:\n"
                + "\n".join(shown)
            )
        if refused:
            names = ", ".join(dict.fromkeys(map(name_of, refused)))
            self.logger.warning("Core ML does not take %s; these operators run on the CPU", names)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """The operators of the program that Core ML has and the exporter would decompose."""
        support = self.support(ep)
        whole = {
            node.target: None
            for module in ep.graph_module.modules()
            if isinstance(module, GraphModule)
            for node in module.graph.nodes
            if node.op == "call_function"
            and isinstance(node.target, torch._ops.OpOverload)
            and _may_stay_whole(node.target)
        }
        return list(whole), lambda node: is_refused_whole(name_of(node)) or support.refusal(node) is None

    def support(self, program: ExportedProgram) -> CoreMLSupport:
        """Returns the object that decides which calls of a program Core ML takes."""
        return CoreMLSupport(program, self._settings, self._skipped, self._takes_constants, self._takes_state)


def _may_stay_whole(target: torch._ops.OpOverload) -> bool:
    """Whether an operator neither returns views nor changes its operands."""
    schema = target._schema
    aliases: Iterable[object] = [*(a.alias_info for a in schema.arguments), *(r.alias_info for r in schema.returns)]
    return all(alias is None for alias in aliases)
