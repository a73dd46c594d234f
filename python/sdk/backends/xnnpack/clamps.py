# SPDX-License-Identifier: BSD-3-Clause
"""Fuses clamps into the layers before them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sdk.backends.xnnpack.serialization.xnnpack_graph_schema import NODES, OutputMinMax, XNode

_LIMITED: Any = tuple(NODES[name] for name in ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d", "FullyConnected"))
_CLAMP: Any = NODES["Clamp"]
_NO_LIMITS = (None, OutputMinMax(-math.inf, math.inf))


def join_clamps(nodes: Sequence[XNode], read: Counter[int], floats: Collection[int]) -> list[XNode]:
    """Returns the nodes, with each clamp fused into the convolution or linear layer before it.

    XNNPACK fuses clamps itself, but not into layers that the runtime computes by its own steps. Changes `nodes` in
    place.

    Args:
        nodes: The nodes in execution order.
        read: How often each value is read, by nodes or as a result.
        floats: The floating-point values. Quantised values already have limits.
    """
    kept: list[XNode] = []
    layers: dict[int, XNode] = {}  # by the value that they compute
    for node in nodes:
        inner: Any = node.xnode_union
        layer = layers.get(inner.input_id) if isinstance(inner, _CLAMP) else None
        if layer is not None and read[inner.input_id] == 1 and inner.output_id in floats:
            layer.xnode_union.output_id = inner.output_id
            layer.output_min_max = node.output_min_max
            continue
        if isinstance(inner, _LIMITED) and node.output_min_max in _NO_LIMITS:
            layers[inner.output_id] = node
        kept.append(node)
    return kept
