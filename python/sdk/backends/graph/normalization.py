# SPDX-License-Identifier: BSD-3-Clause
"""Which calls of PyTorch's normalisations the operators of backends can compute."""

from __future__ import annotations

from torch.fx import Node

from sdk.backends.graph.names import arguments_of


def beyond_last_dimension(node: Node) -> str | None:
    """Why an operator for the last dimension does not compute a layer norm; None if it does."""
    given = arguments_of(node)
    return None if len(given["normalized_shape"]) == 1 else "it normalises more than the last dimension"


def beyond_own_statistics(node: Node) -> str | None:
    """Why an operator that normalises with its operand's mean and variance does not compute a call of
    `aten.instance_norm.default`; None if it does. In training the call also updates the running statistics.
    """
    given = arguments_of(node)
    if given["use_input_stats"] and given["running_mean"] is None:
        return None
    return "it has running statistics (track_running_stats=True)"
