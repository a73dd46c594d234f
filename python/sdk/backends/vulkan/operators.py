# SPDX-License-Identifier: BSD-3-Clause
"""`OPERATORS`: the operators that the partitioner takes, with their conditions and the calls that they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.shapes import tensor_of
from sdk.backends.operators import Operators
from sdk.backends.transforms.constants import get_constant, is_constant
from sdk.backends.vulkan.graph import rules, state  # noqa: F401 - register their rules
from sdk.backends.vulkan.graph.fusions import attention_refusal
from sdk.backends.vulkan.graph.ir import Value
from sdk.backends.vulkan.graph.layouts import allowed_storage
from sdk.backends.vulkan.graph.lowering import RULES, Lowering
from sdk.backends.vulkan.graph.scalars import scalar_refusal
from sdk.backends.vulkan.op_features import BOOL, STORED, OpFeatures, tensors_in
from sdk.backends.vulkan.op_registry import (
    NOT_DELEGATED,
    SYMBOLIC,
    called_operator,
    get_op_features,
    vulkan_supported_ops,
)
from sdk.backends.vulkan.options import Options
from sdk.backends.vulkan.representations import Reprs, valid_reprs
from sdk.exir.sym_util import upper_bound

Reason = str | None

_REDUCTIONS = ("mean.dim", "sum.dim_IntList", "amax.default", "amin.default", "argmax.default", "argmin.default")
_REDUCTION_NAMES = frozenset(f"aten.{name}" for name in _REDUCTIONS)
_INT32 = torch.iinfo(torch.int32)
_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class VulkanOperator:
    """An operator of the edge dialect.

    Attributes:
        name: Its name.
        written: The operator of the runtime whose conditions its calls must meet.
        check: Returns why a call is refused. It replaces the conditions on dtypes, weights and shapes.
    """

    name: str
    written: str
    check: Callable[[Node, ExportedProgram], Reason] | None = None

    @property
    def features(self) -> OpFeatures:
        """The conditions of `written`."""
        return get_op_features(self.written)

    def refusal(self, node: Node, program: ExportedProgram, options: Options) -> Reason:
        """Returns why the runtime does not get a call, or None if it does."""
        if self.written in NOT_DELEGATED:
            return "this version delegates no such operator to Vulkan"
        reason = self._incompatible(node, options) or _unstored(node, program, options)
        if reason is None and options.compat is not None and not self.features.supports_resize:
            reason = _resized(node, options)
        if reason is not None or self.written in SYMBOLIC:
            return reason
        if self.check is not None:
            return self.check(node, program)
        return (
            _foreign_cache(node, program)
            or self._dtypes(node)
            or (self.features.check(node) if self.features.check is not None else None)
            or self._computed_weight(node, program)
            or self._shapes(node, options)
        )

    def lower(self, node: Node, lowering: Lowering) -> Value:
        """Lowers a node. The first rule that applies adds the calls; if none applies, the node becomes a call of the
        operator with the same name."""
        for rule in RULES.get(self.name, ()):
            value = rule(lowering, node)
            if value is not None:
                return value
        return lowering.default(node)

    def _incompatible(self, node: Node, options: Options) -> Reason:
        if options.compat is None:
            return None
        if self.features.ours:
            return f"the original has no such operator in version {options.compat}"
        reason = self.features.widened(node) if self.features.widened is not None else None
        return reason and f"{reason}, which the original does not take in version {options.compat}"

    def _dtypes(self, node: Node) -> Reason:
        if "Scalar" in self.name and any(isinstance(each, Node) and not _is_tensor(each) for each in node.args):
            return "it computes with a symbolic number"
        return self.features.check_dtypes(node)

    def _computed_weight(self, node: Node, program: ExportedProgram) -> Reason:
        """Refuses calls with weights that are not constant, because the operator packs its weights."""
        features = self.features
        if not features.supports_prepacking:
            return None
        for position, argument in enumerate(node.args):
            packs = position != features.first if features.constants is None else position in features.constants
            if packs and _is_tensor(argument) and not is_constant(program, argument):
                return f"{argument} is not a constant"
        return None

    def _shapes(self, node: Node, options: Options) -> Reason:
        tensors = _tensors_of(node)
        high = max((tensor.dim() for tensor in tensors), default=0)
        if options.compat is None:
            return None if high <= _MOST_DIMENSIONS else f"its tensors have more than {_MOST_DIMENSIONS} dimensions"
        if high > 4 and (self.name in _REDUCTION_NAMES or not self.features.supports_highdim):
            return "its tensors have more than four dimensions"
        return None if self.name in _REDUCTION_NAMES else self._unfit(node, tensors, options)

    def _unfit(self, node: Node, tensors: list[torch.Tensor], options: Options) -> Reason:
        """Why tensors do not fit ExecuTorch's textures, whose sizes are limited."""
        inputs, outputs = self.features.storages(node)
        for position, argument in enumerate(node.args):
            reprs = inputs if isinstance(inputs, frozenset) else inputs[position] if position < len(inputs) else None
            if reprs is not None and _is_tensor(argument) and not _fit(reprs, list(tensors_in(argument)), options):
                return "a tensor fits no texture within texture_limits"
        if isinstance(inputs, frozenset) and not _fit(inputs, tensors, options):
            return "its tensors have no storage in common that fits within texture_limits"
        if isinstance(outputs, frozenset) and not _fit(outputs, list(tensors_in(node)), options):
            return "its result fits no texture within texture_limits"
        return None


def _unstored(node: Node, program: ExportedProgram, options: Options) -> Reason:
    for tensor in _tensors_of(node):
        if tensor.dtype not in STORED:
            return f"a GPU stores no {str(tensor.dtype).removeprefix('torch.')}"
        if options.skip_bool_tensors and tensor.dtype in BOOL:
            return "it has a bool tensor, and skip_bool_tensors is set"
        sizes = [upper_bound(size) for size in tensor.shape]
        if None in sizes:
            return f"the shape {list(tensor.shape)} has no largest size; give the dynamic dimension a `max`"
        count = torch.Size([size for size in sizes if size is not None]).numel()
        if count > options.buffer_limit:
            return f"a tensor has {count} elements; buffer_limit is {options.buffer_limit}"
    for operand in node.all_input_nodes:
        if options.downcast_64_bit and is_constant(program, operand):
            value = get_constant(program, operand) if tensor_of(operand).dtype == torch.int64 else None
            if value is not None and value.numel() and not _fits_int32(value):
                return f"{operand} has integers that 32 bits do not hold"
    return None


def _resized(node: Node, options: Options) -> Reason:
    """Why a call is refused whose operator fixes its sizes when the program is loaded."""
    if options.require_dynamic_shapes:
        return "its sizes cannot change at run time, and require_dynamic_shapes is set"
    if any(not isinstance(size, int) for tensor in tensors_in(node) for size in tensor.shape):
        return "its sizes cannot change at run time"
    return None


def _foreign_cache(node: Node, program: ExportedProgram) -> Reason:
    for cache in node.kwargs.get("_all_bases") or ():
        buffers = program.graph_signature.inputs_to_buffers if cache.graph is program.graph else {}
        if cache.op == "placeholder" and cache.name not in buffers:
            return f"its cache {cache} is not a buffer of the program"
    return None


def _tensors_of(node: Node) -> list[torch.Tensor]:
    """The fake tensors that a call returns, and gets as positional arguments."""
    return [*tensors_in(node), *(tensor for argument in node.args for tensor in tensors_in(argument))]


def _fit(reprs: Reprs, tensors: list[torch.Tensor], options: Options) -> bool:
    found = allowed_storage(reprs, options)
    for tensor in tensors:
        found = valid_reprs([upper_bound(size) or 0 for size in tensor.shape], found, options.texture_limits)
    return bool(found)


def _is_tensor(argument: Any) -> bool:
    return any(True for _ in tensors_in(argument)) if isinstance(argument, Node | list | tuple) else False


def _fits_int32(value: torch.Tensor) -> bool:
    return int(value.min()) >= _INT32.min and int(value.max()) <= _INT32.max


OPERATORS = Operators[VulkanOperator]("Vulkan", called_operator)

for _name in vulkan_supported_ops:
    OPERATORS.add([_name], VulkanOperator(_name, _name))
# Operators that rules lower to other operators
for _name in ("add", "sub", "mul", "div"):
    OPERATORS.add([f"aten.{_name}.Scalar"], VulkanOperator(f"aten.{_name}.Scalar", f"aten.{_name}.Tensor"))
for _name, _written, _check in (
    ("aten.div.Scalar_mode", "aten.div.Tensor_mode", None),
    ("aten.lift_fresh_copy.default", "aten.clone.default", None),
    ("aten.detach_copy.default", "aten.clone.default", None),
    ("aten._local_scalar_dense.default", "et_vk.select_as_symint.default", scalar_refusal),
    ("aten.scaled_dot_product_attention.default", "aten.bmm.default", attention_refusal),
):
    OPERATORS.add([_name], VulkanOperator(_name, _written, _check))
