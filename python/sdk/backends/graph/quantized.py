# SPDX-License-Identifier: BSD-3-Clause
"""Quantised values in a graph, as PT2E and torchao write them.

Static: a `quantize` and a `dequantize` with known scales. Dynamic: a `choose_qparams` finds the scale of an activation
when the program runs, a `quantize` and a `dequantize` use it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch.fx import Node

from sdk.backends.graph.names import name_of

QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"
QUANTIZE_CHANNELS = "quantized_decomposed.quantize_per_channel.default"
DEQUANTIZE_CHANNELS = "quantized_decomposed.dequantize_per_channel.default"
DEQUANTIZE_GROUPS = "quantized_decomposed.dequantize_per_channel_group.default"

TORCHAO = ("torchao.choose_qparams_affine.default", "torchao.quantize_affine.default")
DEQUANTIZE_AFFINE = "torchao.dequantize_affine.default"
# The operators that find a scale, that quantise with it and that dequantise.
_DYNAMIC = (
    ("choose_qparams.tensor", "quantize_per_tensor.tensor", "dequantize_per_tensor.tensor"),
    ("choose_qparams_per_token_asymmetric.default", "quantize_per_token.default", "dequantize_per_token.default"),
)
DYNAMIC = (
    *(tuple(f"quantized_decomposed.{name}" for name in names) for names in _DYNAMIC),
    (*TORCHAO, DEQUANTIZE_AFFINE),
)
"""(choose_qparams, quantize, dequantize), by the names of their operators."""


def is_quantize(node: Any) -> bool:
    """Whether a node quantises with one known scale."""
    return name_of(node) == QUANTIZE


def is_dequantize(node: Any) -> bool:
    """Whether a node dequantises with one known scale."""
    return name_of(node) == DEQUANTIZE


def is_any_quantize(node: Any) -> bool:
    """Whether a node quantises with a known scale, or with one for each channel."""
    return name_of(node) in (QUANTIZE, QUANTIZE_CHANNELS)


def is_any_dequantize(node: Any) -> bool:
    """Whether a node dequantises with a known scale, or with one for each channel."""
    return name_of(node) in (DEQUANTIZE, DEQUANTIZE_CHANNELS)


def split_conversion(
    node: Node, takes: Collection[Node], title: str, dequantizes: Callable[[Node], bool] = lambda user: True
) -> str | None:
    """For backends that compute a quantize and the dequantizes of its result as one operator. Returns why the backend
    cannot take a quantize or dequantize when it takes exactly the calls in `takes`; None if it can. `dequantizes`
    selects the users of a quantize that the backend must also take; by default all."""
    if is_any_quantize(node) and not all(user in takes for user in node.users if dequantizes(user)):
        return f"{title} does not take all calls that dequantise its result"
    if is_any_dequantize(node) and is_any_quantize(node.args[0]) and node.args[0] not in takes:
        return f"{title} does not take the call that quantises its operand"
    return None


def dynamic_source(node: Any) -> Node | None:
    """The node that is quantised when the model runs, if `node` is the dequantize of such a chain."""
    for choose, quantize, dequantize in DYNAMIC:
        if name_of(node) != dequantize:
            continue
        quantized = node.args[0]
        if name_of(quantized) != quantize:
            return None
        source = quantized.args[0]
        affine = dequantize == DEQUANTIZE_AFFINE
        parameters = quantized.args[2:4] if affine else quantized.args[1:3]
        for position, parameter in enumerate(parameters):
            if getattr(parameter, "target", None) is not operator.getitem or parameter.args[1] != position:
                return None
            chosen = parameter.args[0]
            if name_of(chosen) != choose or chosen.args[0] is not source:
                return None
        if tuple(node.args[2:4] if affine else node.args[1:3]) != tuple(parameters):
            return None
        if affine and not _is_by_row(node, quantized, chosen):
            return None
        return source
    return None


def dynamic_chain(node: Node) -> list[Node]:
    """The calls that quantise and dequantise `dynamic_source(node)`, from choose_qparams on, `node` last."""
    quantized = node.args[0]
    assert isinstance(quantized, Node)
    parameters = [part for part in quantized.all_input_nodes if part is not dynamic_source(node)]
    return [*dict.fromkeys(parameter.all_input_nodes[0] for parameter in parameters), *parameters, quantized, node]


def _is_by_row(node: Node, quantized: Node, chosen: Node) -> bool:
    """Whether the last dimension is quantised to all of int8 with a zero point."""
    shape = node.meta["val"].shape
    blocks = [call.args[position] for call, position in ((node, 1), (quantized, 1), (chosen, 2))]
    if any(list(block) != [*[1] * (len(shape) - 1), shape[-1]] for block in blocks):
        return False
    return chosen.args[1] == "ASYMMETRIC" and chosen.args[3] is torch.int8
