# SPDX-License-Identifier: BSD-3-Clause
"""The activation functions that only clamp, by their bounds."""

from __future__ import annotations

import math
from typing import Final

from torch.fx import Node

from sdk.backends.graph.names import arguments_of, name_of

Bounds = tuple[float | None, float | None]

RELUS: Final[dict[Bounds, str]] = {
    (0.0, None): "RELU",
    (-1.0, 1.0): "RELU_N1_TO_1",
    (0.0, 6.0): "RELU6",
    (0.0, 1.0): "RELU_0_TO_1",
}
"""The names that the functions have in LiteRT, by their bounds."""

_NAMES = {"aten.relu": (0.0, None), "aten.relu_": (0.0, None), "aten.relu6": (0.0, 6.0), "aten.relu6_": (0.0, 6.0)}


def bounds_of(node: Node) -> Bounds | None:
    """The bounds of a call that limits elements; None for other calls. An infinite bound is None."""
    packet = name_of(node).rpartition(".")[0]
    if packet in _NAMES:
        return _NAMES[packet]
    if packet not in ("aten.clamp", "aten.hardtanh", "aten.hardtanh_"):
        return None
    _, low, high = list(arguments_of(node).values())[:3]
    return finite(low), finite(high)


def finite(bound: float | None) -> float | None:
    """A bound as a number; None if it is infinite."""
    return None if bound is None or not math.isfinite(bound) else float(bound)


def relu_of(node: Node) -> str | None:
    """Returns the name of the activation function that a call computes, or None."""
    bounds = bounds_of(node)
    return None if bounds is None else RELUS.get(bounds)


def is_fused_activation(node: Node) -> bool:
    """Whether Neutron fuses a call into the layer before it."""
    return relu_of(node) in ("RELU", "RELU6")
