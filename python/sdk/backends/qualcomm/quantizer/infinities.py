# SPDX-License-Identifier: BSD-3-Clause
"""Infinite constants of quantised calls, as in masks of attention, become the range of integers: finite, but
large enough for the softmax after them to ignore the element."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec

from sdk.backends.qualcomm.quantizer.rules import limits_of
from sdk.backends.quantizer.patterns import ANNOTATION

_aten = torch.ops.aten

_WITH_NUMBERS = frozenset(
    getattr(getattr(_aten, name), kind)
    for name in ("add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "masked_fill")
    for kind in ("Scalar", "Tensor")
) | {_aten.scalar_tensor.default}  # fmt: skip

_FLOAT16 = torch.finfo(torch.float16)


def replace_infinities(model: GraphModule) -> None:
    """Replaces numbers and constants beyond the range of float16 in annotated calls."""
    for node in model.graph.nodes:
        if node.op == "call_function" and node.target in _WITH_NUMBERS and (most := _range(node)):
            node.args = tuple(_limited(each, most) for each in node.args)
        elif node.op == "get_attr":
            constant = attrgetter(node.target)(model)
            ranges = [most for user in node.users if (most := _range(user))]
            if isinstance(constant, torch.Tensor) and constant.is_floating_point() and ranges:
                with torch.no_grad():
                    constant[constant <= _FLOAT16.min] = -max(ranges)
                    constant[constant >= _FLOAT16.max] = max(ranges)
    model.recompile()


def _limited(given: Any, most: int) -> Any:
    if not isinstance(given, (int, float)) or _FLOAT16.min < given < _FLOAT16.max:
        return given
    return most if given > 0 else -most


def _range(node: Node) -> int | None:
    """How many steps the integers of a result have; None if it is not quantised."""
    annotation = node.meta.get(ANNOTATION)
    spec = None if annotation is None else annotation.output_qspec
    while isinstance(spec, SharedQuantizationSpec):
        shared = spec.edge_or_node
        if isinstance(shared, tuple):
            spec = shared[1].meta[ANNOTATION].input_qspec_map[shared[0]]
        else:
            spec = shared.meta[ANNOTATION].output_qspec
    if spec is None:
        return None
    low, high = limits_of(spec)
    return high - low
