# SPDX-License-Identifier: BSD-3-Clause
"""Calls that coremltools converts to something that computes another result than PyTorch: they stay outside."""

from __future__ import annotations

from torch.fx import Node

_WRONG = {
    "aten.clamp.Tensor": "where the lower bound is above the upper one, coremltools' program gives the lower one",
    "aten.logcumsumexp.default": "coremltools' program adds exponentials, which are infinite for large elements",
    "aten.rms_norm.default": "coremltools' program adds epsilon to a scaled sum",
    "aten.diagonal_copy.default": "coremltools' program returns the whole matrix",
    "aten.diagonal.default": "coremltools' program returns the whole matrix",
}

_DYNAMIC = frozenset(
    f"quantized_decomposed.{name}"
    for name in (
        "choose_qparams.tensor", "choose_qparams_symmetric.tensor", "choose_qparams_per_token.default",
        "choose_qparams_per_token_asymmetric.default", "quantize_per_tensor.tensor", "quantize_per_tensor.tensor2",
        "quantize_per_token.default", "dequantize_per_tensor.tensor", "dequantize_per_tensor.tensor2",
        "dequantize_per_token.default",
    )
) | {"torchao.choose_qparams_affine.default", "torchao.quantize_affine.default"}  # fmt: skip


def is_refused_whole(name: str) -> bool:
    """Whether an operator is offered to Core ML whole, even if it is refused: decomposed, dynamic quantisation would be
    float operators, which Core ML takes, and the reason of a codebook's parts would say nothing of codebooks."""
    return name in _DYNAMIC or name == "quant.dequantize_codebook.default"


def refusal_by_rule(name: str, node: Node) -> str | None:
    """Why a call must not be converted; None if nothing is known against it."""
    if name in _DYNAMIC:
        return "Core ML has no dynamic quantisation: quantise activations statically, or weights only"
    if name == "aten.matmul.default":
        ranks = [argument.meta["val"].dim() for argument in node.args[:2]]
        return "coremltools' program declares another shape for a vector times matrices" if ranks[0] == 1 else None
    if name.startswith("aten.upsample_nearest"):
        return _nearest(node)
    return _WRONG.get(name)


def _nearest(node: Node) -> str | None:
    """Core ML's places of the nearest pixels are PyTorch's for whole multiples only."""
    before, after = (list(value.meta["val"].shape[2:]) for value in (node.args[0], node))
    for old, new in zip(before, after, strict=True):
        if not (isinstance(old, int) and isinstance(new, int) and new % old == 0):
            return "the size of the result is not known to be a whole multiple of the operand's"
    return None
