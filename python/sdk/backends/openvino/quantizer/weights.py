# SPDX-License-Identifier: BSD-3-Clause
"""Quantised weights of layers that compute in floats: integers, and an ATen expression that converts them to floats.
Eager PyTorch runs the expression, and OpenVINO recognises it as compressed weights."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import ObserverBase

_aten = torch.ops.aten


class WeightObserver(ObserverBase):
    """Quantises a weight when a prepared model is converted.

    Args:
        bits: 8 or 4.
        symmetric: Whether the range is symmetric around zero. Otherwise there is a zero point.
        group_size: The inputs that share a scale, along the last dimension; None for all inputs of an output channel.
        axis: The dimension of the output channels.
    """

    def __init__(self, bits: int, symmetric: bool, group_size: int | None, axis: int = 0, **kwargs: Any) -> None:
        super().__init__(dtype=torch.int8, is_dynamic=False)
        self.bits, self.symmetric, self.group_size, self.axis = bits, symmetric, group_size, axis
        self.weight: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.weight = x.detach()
        return x

    def calculate_qparams(self, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The scales and zero points of the last weight, shaped for its groups."""
        assert self.weight is not None
        _, scale, zero = quantize(self._grouped(self.weight), self._dims(), self.bits, self.symmetric)
        return scale, zero

    def convert(self, model: GraphModule, observer_node: Node) -> None:
        """Replaces the observer, and the float weight that it reads, by the quantised weight."""
        source = observer_node.args[0]
        assert isinstance(source, Node) and source.op == "get_attr"
        weight = _attribute(model, str(source.target))
        grouped = self._grouped(weight)
        integers, scale, zero = quantize(grouped, self._dims(), self.bits, self.symmetric)
        name = str(source.target).replace(".", "_") + f"_int{self.bits}"
        graph = model.graph
        with graph.inserting_before(observer_node):
            floats = graph.call_function(_aten.to.dtype, (_buffer(model, name, integers), weight.dtype))
            if zero.any():
                floats = graph.call_function(
                    _aten.sub.Tensor, (floats, _buffer(model, f"{name}_zero", zero.to(weight.dtype)))
                )
            floats = graph.call_function(
                _aten.mul.Tensor, (floats, _buffer(model, f"{name}_scale", scale.to(weight.dtype)))
            )
            if grouped.shape != weight.shape:
                floats = graph.call_function(_aten.reshape.default, (floats, list(weight.shape)))
        floats.meta["val"] = source.meta.get("val")
        observer_node.replace_all_uses_with(floats)
        graph.erase_node(observer_node)

    def _grouped(self, weight: torch.Tensor) -> torch.Tensor:
        return weight if self.group_size is None else weight.unflatten(-1, (-1, self.group_size))

    def _dims(self) -> tuple[int, ...] | int:
        """The dimensions that share a scale, as a tuple; or, as an int, the only dimension that does not."""
        return (-1,) if self.group_size is not None else self.axis


def quantize(
    weight: torch.Tensor, dims: tuple[int, ...] | int, bits: int, symmetric: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns integers as int8 (with a zero point: 0 to 15 for int4, -128 to 127 for int8), and scales and zero points
    that broadcast to the weight: weight ~ (integers - zero) * scale."""
    if isinstance(dims, int):
        dims = tuple(dim for dim in range(weight.dim()) if dim != dims % weight.dim())
    weight = weight.float()
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    least, most = weight.amin(dims, keepdim=True).clamp(max=0), weight.amax(dims, keepdim=True).clamp(min=0)
    if symmetric:
        scale = torch.maximum(most / high, least / low)
        scale = torch.where(scale > 0, scale, 1.0)
        zero = torch.zeros_like(scale)
    else:
        if bits == 4:
            low, high = 0, 15
        scale = (most - least) / (high - low)
        scale = torch.where(scale > 0, scale, 1.0)
        zero = (low - torch.round(least / scale)).clamp(low, high)
    integers = (torch.round(weight / scale) + zero).clamp(low, high).to(torch.int8)
    return integers, scale, zero


def _attribute(model: GraphModule, target: str) -> torch.Tensor:
    value: Any = model
    for name in target.split("."):
        value = getattr(value, name)
    return value.detach()


def _buffer(model: GraphModule, name: str, value: torch.Tensor) -> Node:
    if not hasattr(model, name):
        model.register_buffer(name, value)
    return model.graph.get_attr(name)
