# SPDX-License-Identifier: BSD-3-Clause
"""Folds multiplications and additions after a convolution, such as a frozen batch norm, into its weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.backends.graph.names import name_of
from sdk.backends.transforms.constants import get_constant
from sdk.exir.graph.constants import add_constant
from sdk.exir.graph.fake import fake_mode_of
from sdk.exir.sym_util import are_same_sizes

_CONVOLUTION = "aten.convolution.default"
_FLOATS = (torch.float32, torch.float16)


@dataclass
class _Affine:
    """`scale * x + shift`, with a number for each channel, in double precision."""

    scale: torch.Tensor
    shift: torch.Tensor


def fold_affine(program: ExportedProgram) -> None:
    """Folds the chain of arithmetic after each convolution into its weights: calls with a constant for each channel,
    each of which is the only user of the one before. The rounding of the results changes, as with a fused batch norm.
    Edits the graph of `program`, and adds constants.

    Does not change quantised weights, nor weights that would not be finite.
    """
    for node in list(program.graph.nodes):
        if name_of(node) == _CONVOLUTION and node.meta["val"].dtype in _FLOATS:
            _fold(program, node)
    program.graph_module.recompile()


def _fold(program: ExportedProgram, node: Node) -> None:
    source, weight_node, bias_node = node.args[:3]
    if any(operand is not None and getattr(operand, "op", "") != "placeholder" for operand in (weight_node, bias_node)):
        return
    weight, bias = get_constant(program, weight_node), get_constant(program, bias_node)
    if weight is None or (bias is None and bias_node is not None) or weight.dtype not in _FLOATS:
        return
    channels = node.meta["val"].shape[1]
    one, zero = torch.ones(channels, dtype=torch.float64), torch.zeros(channels, dtype=torch.float64)
    affine, chain = _Affine(one, zero if bias is None else bias.detach().double()), [node]
    while len(chain[-1].users) == 1:
        reader = next(iter(chain[-1].users))
        found = _applied(program, reader, chain[-1], affine)
        if found is None:
            break
        affine, chain = found, [*chain, reader]
    scaled = _scaled(weight.detach().double(), affine.scale, node).to(weight.dtype)
    shift = affine.shift.to(weight.dtype)
    if len(chain) == 1 or not bool(scaled.isfinite().all() and shift.isfinite().all()):
        return
    mode = fake_mode_of(program.graph_module)
    made = [add_constant(program, mode, f"{node.name}_{name}", t) for name, t in (("weight", scaled), ("bias", shift))]
    node.args = (source, *made, *node.args[3:])
    node.meta["debug_handle"] = chain[-1].meta.get("debug_handle")
    chain[-1].replace_all_uses_with(node)
    for call in reversed(chain[1:]):
        program.graph.erase_node(call)


def _scaled(weight: torch.Tensor, scale: torch.Tensor, node: Node) -> torch.Tensor:
    """The weights, multiplied by a `scale` for each output channel."""
    is_transposed, groups = bool(node.args[6]), int(node.args[8])
    rest = [1] * (weight.dim() - 2)
    if not is_transposed:
        return weight * scale.reshape(-1, 1, *rest)
    # [channels in, channels out of a group, ...], group after group
    by_group = weight.unflatten(0, (groups, -1)) * scale.reshape(groups, 1, -1, *rest)
    return by_group.flatten(0, 1)


def _applied(program: ExportedProgram, call: Node, operand: Node, before: _Affine) -> _Affine | None:
    """Returns the result of `call` as an affine function of the convolution, given that function of its operand
    (`before`). Returns None unless the other operand is constant and the result affine."""
    name, value = name_of(call), call.meta.get("val")
    if name not in ("aten.mul.Tensor", "aten.add.Tensor", "aten.sub.Tensor", "aten.div.Tensor") or len(call.args) != 2:
        return None
    if call.kwargs or value.dtype != operand.meta["val"].dtype:
        return None
    if not are_same_sizes(value.shape, operand.meta["val"].shape):
        return None
    first, second = call.args
    number = _by_channel(program, second if first is operand else first, operand)
    if first is second or number is None:
        return None
    if name == "aten.mul.Tensor":
        return _Affine(before.scale * number, before.shift * number)
    if name == "aten.add.Tensor":
        return _Affine(before.scale, before.shift + number)
    if name == "aten.sub.Tensor":
        is_first = first is operand
        return (
            _Affine(before.scale, before.shift - number) if is_first else _Affine(-before.scale, number - before.shift)
        )
    return _Affine(before.scale / number, before.shift / number) if first is operand else None


def _by_channel(program: ExportedProgram, node: object, operand: Node) -> torch.Tensor | None:
    """Returns a constant with one number, or one number for each channel of `operand`."""
    constant = get_constant(program, node)
    shape = operand.meta["val"].shape
    if constant is None or constant.dtype not in _FLOATS or constant.dim() > len(shape):
        return None
    sizes = [1] * (len(shape) - constant.dim()) + list(constant.shape)
    if any(size != 1 for dim, size in enumerate(sizes) if dim != 1):
        return None
    return constant.detach().double().reshape(-1).expand(shape[1])
