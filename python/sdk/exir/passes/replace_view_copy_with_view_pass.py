# SPDX-License-Identifier: BSD-3-Clause
"""Replaces `view_copy` by `memory.view`: the reshaped tensor shares the memory of its base and costs nothing at
run time."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from sdk.exir import memory
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.error import internal_assert
from sdk.exir.tensor import TensorSpec, dim_order_of

_VIEW_OPS = (torch.ops.aten.view_copy.default, exir_ops.edge.aten.view_copy.default)


def _is_view_copy(node: Node) -> bool:
    return node.op == "call_function" and node.target in _VIEW_OPS


class _ViewSpec(TensorSpec):
    """The spec of a view: it has its own sizes, but the memory of its base."""

    _SHARED = (
        "const",
        "alignment",
        "storage",
        "requires_grad",
        "layout",
        "is_sparse",
        "lifetime",
        "mem_id",
        "mem_obj_id",
        "mem_offset",
        "inplace_base",
        "inplace_offset",
        "extra_tensor_info",
        "device",
        "device_index",
        "scalar_type",
    )

    def __init__(self, base: TensorSpec, spec: TensorSpec) -> None:
        if base.dtype != spec.dtype:
            raise ValueError(f"a view has the dtype of its base: {base.dtype}, not {spec.dtype}")
        object.__setattr__(self, "_base", base)
        self.shape = list(spec.shape)
        self.stride = spec.stride
        self.dim_order = spec.dim_order
        self.shape_dynamism = spec.shape_dynamism

    @property
    def base(self) -> TensorSpec:
        """The spec that owns the memory."""
        return self._base

    def __getattribute__(self, name: str) -> Any:
        if name in _ViewSpec._SHARED:
            return getattr(object.__getattribute__(self, "_base"), name)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ViewSpec._SHARED:
            setattr(self._base, name, value)
        else:
            object.__setattr__(self, name, value)

    def init_mem_planning_fields(self) -> None:
        """These fields are reset only through the base."""

    def debug(self) -> str:
        return f"view of {self._base.debug()} as {self.shape}"


class ReplaceViewCopyWithViewPass(PassBase):
    """Runs on graphs in edge dialect or ATen whose bases of views have specs. Views that are returned keep their copy,
    because an output needs separate memory."""

    def __init__(self) -> None:
        super().__init__()

    def call(self, graph_module: GraphModule) -> PassResult:
        replaced = 0
        for module in graph_module.modules():
            if not isinstance(module, GraphModule):
                continue
            for node in module.graph.nodes:
                if _is_view_copy(node) and not any(user.op == "output" for user in node.users) and _can_share(node):
                    base, size = node.args
                    base_spec, spec = (
                        base.meta["spec"],
                        node.meta.get("spec") or TensorSpec.from_tensor(node.meta["val"]),
                    )
                    node.target = memory.view
                    node.args = (base, size)
                    node.meta["spec"] = _ViewSpec(getattr(base_spec, "base", base_spec), spec)
                    replaced += 1
            module.recompile()
        return PassResult(graph_module, replaced > 0)

    def ensures(self, graph_module: GraphModule) -> None:
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    if node.target is memory.view:
                        spec = node.meta["spec"]
                        internal_assert(isinstance(spec, _ViewSpec), f"{node.name} is a view without a view's spec")

    def requires(self, graph_module: GraphModule) -> None:
        """Bases of views must not be views: run `NormalizeViewCopyBasePass` first."""
        for module in graph_module.modules():
            if isinstance(module, GraphModule):
                for node in module.graph.nodes:
                    if _is_view_copy(node):
                        internal_assert(
                            not _is_view_copy(node.args[0]), f"the base of {node.name} is itself a view_copy"
                        )


def _can_share(node: Node) -> bool:
    base, val = node.args[0].meta.get("val"), node.meta.get("val")
    if not isinstance(node.args[0].meta.get("spec"), TensorSpec) or not isinstance(base, torch.Tensor):
        return False
    # The elements of a view are those of its base in memory order, which is the logical order only of a contiguous
    # tensor.
    return list(dim_order_of(base)) == list(range(base.dim())) and base.dtype == val.dtype
