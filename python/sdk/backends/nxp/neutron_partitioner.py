# SPDX-License-Identifier: BSD-3-Clause
"""`NeutronPartitioner`: delegates the quantised parts of a model to `NeutronBackend`. The reason for every other node
is in the receipt of the export and, at the level DEBUG, in the log `sdk.backends.nxp`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, final

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.graph.quantized import is_any_dequantize, is_any_quantize
from sdk.backends.npu.integer import overload
from sdk.backends.npu.lowering import has_quantized_result
from sdk.backends.npu.operators import computes
from sdk.backends.npu.partitioner import NpuSupport
from sdk.backends.nxp.backend.custom_delegation_options import CustomDelegationOptions
from sdk.backends.nxp.backend.neutron_target_spec import NeutronTargetSpec
from sdk.backends.nxp.neutron.compile_specs import kept_operators, target_of
from sdk.backends.nxp.neutron.operators import LIMITS, OPERATORS, WHOLE, refusal
from sdk.backends.nxp.nxp_backend import NeutronBackend, generate_neutron_compile_spec
from sdk.backends.partition import SupportPartitioner
from sdk.backends.transforms.constants import is_constant
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec

_FLOATS = "an operand or the result is not quantised; Neutron computes int8 only"

_NO_OPS = ("aten.view_copy.default", "aten.squeeze_copy.dims", "aten.unsqueeze_copy.default")


class NeutronSupport(NpuSupport):
    """Decides which calls of a program Neutron gets: calls between a dequantise and a quantise call. Both go with the
    call, so that delegates take and return int8."""

    def __init__(
        self,
        program: ExportedProgram,
        target: NeutronTargetSpec,
        operators_not_to_delegate: Sequence[str] = (),
        options: CustomDelegationOptions | None = None,
    ) -> None:
        super().__init__(program, OPERATORS, LIMITS)
        self._target, self._kept, self._options = target, operators_not_to_delegate, options
        self._judged: dict[Node, str | None] = {}

    def refusal(self, node: Node) -> str | None:
        if node not in self._judged:
            self._judged[node] = self._refusal(node)
        return self._judged[node]

    def _refusal(self, node: Node) -> str | None:
        reason = super().refusal(node)
        if reason is not None or is_constant(self.program, node) or is_any_dequantize(node) or is_any_quantize(node):
            return reason
        if any(name in node.name for name in self._kept):
            return "operators_not_to_delegate has its name"
        reason = refusal(node, self.program, self._target)
        return _FLOATS if reason is None and not has_quantized_result(node) else reason

    def incomplete(self, node: Node, takes: Collection[Node]) -> str | None:
        if is_constant(self.program, node):
            return super().incomplete(node, takes)
        if is_any_quantize(node):
            return None if node.args[0] in takes else ""
        if is_any_dequantize(node):
            return None if all(user in takes for user in node.users) else ""
        operands = [each for each in node.all_input_nodes if not is_constant(self.program, each)]
        if not operands or not all(each in takes for each in (*operands, *node.users)):
            return _FLOATS
        return super().incomplete(node, takes)

    def is_free(self, node: Node) -> bool:
        if self._options is not None and self._options.allow_no_op_partitions:
            return not computes(node)
        return super().is_free(node) or name_of(node) in _NO_OPS


@final
class NeutronPartitioner(SupportPartitioner):
    """Delegates the largest possible parts.

    Args:
        compile_spec: The result of `generate_neutron_compile_spec`; by default for the target imxrt700.
        neutron_target_spec: The target; by default that of the compile specs. `custom_delegation_options` are accepted
        here, too, as in releases of ExecuTorch before 1.2.
        custom_delegation_options: Options that delegate more than the default.
        post_quantization_state_dict: The constants of the quantised model. Has no effect, because the constants are
        read from the program.
        preserve_ops: Operators of ATen that are not decomposed, in addition to those that Neutron has.
        check_op_support: Decides for each of their calls whether it stays whole. Without it, all stay whole.

    Raises ValueError if the compile specs name no target.
    """

    prefix = "tag"
    logger = logging.getLogger("sdk.backends.nxp")

    def __init__(
        self,
        compile_spec: Sequence[CompileSpec] | None = None,
        neutron_target_spec: NeutronTargetSpec | CustomDelegationOptions | None = None,
        custom_delegation_options: CustomDelegationOptions | None = None,
        post_quantization_state_dict: Mapping[str, torch.Tensor] | None = None,
        preserve_ops: Sequence[torch._ops.OpOverload] | None = None,
        check_op_support: Callable[[Node], bool] | None = None,
    ) -> None:
        super().__init__()
        specs = generate_neutron_compile_spec("imxrt700") if compile_spec is None else list(compile_spec)
        if isinstance(neutron_target_spec, CustomDelegationOptions):
            custom_delegation_options, neutron_target_spec = neutron_target_spec, None
        self.neutron_target_spec = neutron_target_spec or NeutronTargetSpec(target_of(specs))
        self.custom_delegation_options = custom_delegation_options or CustomDelegationOptions()
        self.preserve_ops, self.check_op_support = list(preserve_ops or ()), check_op_support
        self.delegation_spec = DelegationSpec(NeutronBackend.__name__, specs)

    def support(self, program: ExportedProgram) -> NeutronSupport:
        kept = kept_operators(self.delegation_spec.compile_specs)
        return NeutronSupport(program, self.neutron_target_spec, kept, self.custom_delegation_options)

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[torch._ops.OpOverload], Callable[[Node], bool] | None]:
        """Operators that Neutron has and the exporter would decompose, where they are quantised."""
        support = self.support(ep)
        whole: list[Any] = [overload(name) for name in WHOLE]

        def is_kept(node: Node) -> bool:
            if node.target in whole and support.refusal(node) is None:
                return True
            return node.target in self.preserve_ops and (self.check_op_support is None or self.check_op_support(node))

        return [*whole, *(each for each in self.preserve_ops if each not in whole)], is_kept
