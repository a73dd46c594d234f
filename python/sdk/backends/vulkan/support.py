# SPDX-License-Identifier: BSD-3-Clause
"""Which calls of a program the runtime takes, and why not others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.shapes import tensor_of
from sdk.backends.partition import Support, calls_of, is_owned
from sdk.backends.transforms.constants import get_constant, is_constant, is_foldable
from sdk.backends.vulkan.graph.fusions import attention_refusal
from sdk.backends.vulkan.graph.layouts import allowed_storage
from sdk.backends.vulkan.graph.scalars import scalar_refusal
from sdk.backends.vulkan.op_features import BOOL, STORED, OpFeatures, tensors_in
from sdk.backends.vulkan.op_registry import (
    NOT_DELEGATED,
    SYMBOLIC,
    VIEWS,
    called_operator,
    get_op_features,
    has_impl,
    vulkan_supported_ops,
)
from sdk.backends.vulkan.options import Options
from sdk.backends.vulkan.representations import Reprs, valid_reprs
from sdk.exir.sym_util import upper_bound

# Operators that rules write as others, with the operator whose conditions they share.
WRITTEN_AS = {
    **{f"aten.{name}.Scalar": f"aten.{name}.Tensor" for name in ("add", "sub", "mul", "div")},
    "aten.div.Scalar_mode": "aten.div.Tensor_mode",
    "aten.lift_fresh_copy.default": "aten.clone.default",
    "aten.detach_copy.default": "aten.clone.default",
    "aten._local_scalar_dense.default": "et_vk.select_as_symint.default",
    "aten.scaled_dot_product_attention.default": "aten.bmm.default",
}

OPERATORS = {**vulkan_supported_ops, **{name: get_op_features(written) for name, written in WRITTEN_AS.items()}}
"""The operators that the partitioner takes, with their conditions, and those that it does not delegate."""

_REDUCTIONS = ("mean.dim", "sum.dim_IntList", "amax.default", "amin.default", "argmax.default", "argmin.default")
_REDUCTION_NAMES = frozenset(f"aten.{name}" for name in _REDUCTIONS)
_TAKING_ANY_MATRIX = ("aten.bmm.default", "aten.mm.default", "aten.linear.default")
_INT32 = torch.iinfo(torch.int32)
_MOST_DIMENSIONS = 8


class VulkanSupport(Support):
    """What the runtime takes of a program. `block` and `allow` are names of operators; the modules are parts of the
    names of classes."""

    title = "Vulkan"

    def __init__(
        self,
        program: ExportedProgram,
        options: Options,
        block: Collection[str] = (),
        allow: Collection[str] | None = None,
        modules_blocked: Collection[str] = (),
        modules_allowed: Collection[str] | None = None,
    ) -> None:
        self.program = program
        self.options = options
        self._block, self._allow = block, allow
        self._modules_blocked, self._modules_allowed = modules_blocked, modules_allowed

    def refusal(self, node: Node) -> str | None:
        name = called_operator(node)
        reason = self._listed(node, name)
        if reason is not None or name == "getitem" or is_foldable(self.program, node):
            return reason
        written = WRITTEN_AS.get(name, name)
        if not has_impl(written):
            return "the Vulkan runtime has no such operator"
        if written in NOT_DELEGATED:
            return "this version delegates no such operator to Vulkan"
        features = get_op_features(written)
        return (
            self._compatible(features, node)
            or self._unstored(node)
            or self._unresizable(features, node)
            or (None if written in SYMBOLIC else self._conditions(name, features, node))
        )

    def conflicts(self, nodes: Sequence[Node], part_of: Mapping[Node, int]) -> Iterable[tuple[Node, str]]:
        """Nodes that are not with all their readers, and those whose weights are also used outside their part, so that
        the delegate cannot own them."""
        for node in nodes:
            if self.is_only_with_readers(node) and any(part_of.get(user) != part_of[node] for user in node.users):
                yield node, "several parts read it"
            elif (shared := self._shared_constant(node, part_of)) is not None:
                yield node, f"{shared} is also used by a part that Vulkan does not take, or by another one"

    def is_free(self, node: Node) -> bool:
        name = called_operator(node)
        return name == "getitem" or name in SYMBOLIC or name in VIEWS or is_foldable(self.program, node)

    def is_worth_it(self, nodes: Sequence[Node]) -> bool:
        """A part that only moves elements is worth a delegate in a program that has nothing else."""
        return self._only_moves or super().is_worth_it(nodes)

    @cached_property
    def _only_moves(self) -> bool:
        return all(self.is_free(node) for node in calls_of(self.program))

    def is_only_with_readers(self, node: Node) -> bool:
        """Constants, which are folded, symbolic integers, and lists."""
        return not isinstance(node.meta.get("val"), torch.Tensor) or is_foldable(self.program, node)

    def _shared_constant(self, node: Node, part_of: Mapping[Node, int]) -> Node | None:
        """A constant that the part of a node must own and does not."""
        name = WRITTEN_AS.get(called_operator(node), called_operator(node))
        folds, part = is_foldable(self.program, node), part_of[node]
        if not folds and not (has_impl(name) and get_op_features(name).supports_prepacking):
            return None
        if not folds and name in _TAKING_ANY_MATRIX:
            return None
        for operand in node.all_input_nodes:
            is_left = folds and operand.op == "call_function" and part_of.get(operand) != part
            if is_left or (is_constant(self.program, operand) and not is_owned(self.program, operand, part, part_of)):
                return operand
        return None

    def _listed(self, node: Node, name: str) -> str | None:
        modules = [str(entry[1]) for entry in (node.meta.get("nn_module_stack") or {}).values()]
        if self._modules_allowed is not None and not _any_in(self._modules_allowed, modules):
            return "its module is not in nn_module_allowlist"
        if _any_in(self._modules_blocked, modules):
            return "its module is in nn_module_blocklist"
        if self._allow is not None and name not in self._allow and name not in SYMBOLIC and name != "getitem":
            return "it is not in operator_allowlist"
        return "it is in operator_blocklist" if name in self._block else None

    def _compatible(self, features: OpFeatures, node: Node) -> str | None:
        if self.options.compat is None:
            return None
        if features.ours:
            return f"the original has no such operator in version {self.options.compat}"
        reason = features.widened(node) if features.widened is not None else None
        return reason and f"{reason}, which the original does not take in version {self.options.compat}"

    def _unstored(self, node: Node) -> str | None:
        for tensor in (*tensors_in(node), *(t for argument in node.args for t in tensors_in(argument))):
            if tensor.dtype not in STORED:
                return f"a GPU stores no {str(tensor.dtype).removeprefix('torch.')}"
            if self.options.skip_bool_tensors and tensor.dtype in BOOL:
                return "it has a bool tensor, and skip_bool_tensors is set"
            sizes = [upper_bound(size) for size in tensor.shape]
            if None in sizes:
                return f"the shape {list(tensor.shape)} has no largest size; give the dynamic dimension a `max`"
            count = torch.Size([size for size in sizes if size is not None]).numel()
            if count > self.options.buffer_limit:
                return f"a tensor has {count} elements; buffer_limit is {self.options.buffer_limit}"
        for operand in node.all_input_nodes:
            if self.options.downcast_64_bit and is_constant(self.program, operand):
                value = get_constant(self.program, operand) if tensor_of(operand).dtype == torch.int64 else None
                if value is not None and value.numel() and not _fits(value):
                    return f"{operand} has integers that 32 bits do not hold"
        return None

    def _unresizable(self, features: OpFeatures, node: Node) -> str | None:
        if features.supports_resize or self.options.compat is None:
            return None
        if self.options.require_dynamic_shapes:
            return "its sizes cannot change at run time, and require_dynamic_shapes is set"
        if any(not isinstance(size, int) for tensor in tensors_in(node) for size in tensor.shape):
            return "its sizes cannot change at run time"
        return None

    def _conditions(self, name: str, features: OpFeatures, node: Node) -> str | None:
        if name == "aten.scaled_dot_product_attention.default":
            return attention_refusal(node)
        if name == "aten._local_scalar_dense.default":
            return scalar_refusal(self.program, node)
        for cache in node.kwargs.get("_all_bases") or ():
            buffers = self.program.graph_signature.inputs_to_buffers if cache.graph is self.program.graph else {}
            if cache.op == "placeholder" and cache.name not in buffers:
                return f"its cache {cache} is not a buffer of the program"
        return (
            self._dtypes(name, features, node)
            or (features.check(node) if features.check is not None else None)
            or self._without_weights(features, node)
            or self._shapes(name, features, node)
        )

    def _dtypes(self, name: str, features: OpFeatures, node: Node) -> str | None:
        if "Scalar" in name and any(isinstance(argument, Node) and not _is_tensor(argument) for argument in node.args):
            return "it computes with a symbolic number"
        return features.check_dtypes(node)

    def _without_weights(self, features: OpFeatures, node: Node) -> str | None:
        """Operators that pack their weights take no others."""
        if not features.supports_prepacking:
            return None
        for position, argument in enumerate(node.args):
            packs = position != features.first if features.constants is None else position in features.constants
            if packs and _is_tensor(argument) and not is_constant(self.program, argument):
                return f"{argument} is not a constant"
        return None

    def _shapes(self, name: str, features: OpFeatures, node: Node) -> str | None:
        tensors = [*tensors_in(node), *(t for argument in node.args for t in tensors_in(argument))]
        high = max((tensor.dim() for tensor in tensors), default=0)
        if self.options.compat is None:
            return None if high <= _MOST_DIMENSIONS else f"its tensors have more than {_MOST_DIMENSIONS} dimensions"
        if high > 4 and not features.supports_highdim:
            return "its tensors have more than four dimensions"
        if name in _REDUCTION_NAMES:
            return "its tensors have more than four dimensions" if high > 4 else None
        inputs, outputs = features.storages(node)
        for position, argument in enumerate(node.args):
            reprs = inputs if isinstance(inputs, frozenset) else inputs[position] if position < len(inputs) else None
            if reprs is not None and _is_tensor(argument) and not self._fit(reprs, list(tensors_in(argument))):
                return "a tensor fits no texture within texture_limits"
        if isinstance(inputs, frozenset) and not self._fit(inputs, tensors):
            return "its tensors have no storage in common that fits within texture_limits"
        if isinstance(outputs, frozenset) and not self._fit(outputs, list(tensors_in(node))):
            return "its result fits no texture within texture_limits"
        return None

    def _fit(self, reprs: Reprs, tensors: list[torch.Tensor]) -> bool:
        found = allowed_storage(reprs, self.options)
        for tensor in tensors:
            found = valid_reprs([upper_bound(size) or 0 for size in tensor.shape], found, self.options.texture_limits)
        return bool(found)


def _is_tensor(argument: Any) -> bool:
    return any(True for _ in tensors_in(argument)) if isinstance(argument, Node | list | tuple) else False


def _any_in(parts: Collection[str], names: list[str]) -> bool:
    return any(part in name for part in parts for name in names)


def _fits(value: torch.Tensor) -> bool:
    return int(value.min()) >= _INT32.min and int(value.max()) <= _INT32.max
