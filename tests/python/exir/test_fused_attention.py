# SPDX-License-Identifier: BSD-3-Clause
"""torch.nn's attention and transformer layers, which a strict capture under torch.no_grad() represents as one
operator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from sdk.exir import to_edge
from sdk.export import ExportRecipe
from sdk.export import export as export_by_recipe
from sdk.runtime import Runtime

_attention = torch.ops.aten._native_multi_head_attention.default
_layer = torch.ops.aten._transformer_encoder_layer_fwd.default


class Call(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs)


class Layer(nn.Module):
    def __init__(self, layer: nn.Module, mask: Tensor | None) -> None:
        super().__init__()
        self.layer, self.mask = layer, mask

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, src_mask=self.mask)


def _check(model: nn.Module, inputs: tuple[Tensor, ...], has: object | None) -> None:
    """A strict capture without gradients has the operator, and its program gives what eager gives."""
    with torch.no_grad():
        program = torch.export.export(model, inputs, strict=True)
        expected = model(*inputs)
    assert has in (None, *(node.target for node in program.graph.nodes))
    method = Runtime.get().load_program(to_edge(program).to_executorch().buffer).load_method("forward")
    (found,) = method.execute(list(inputs))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("kind", ["plain", "bool mask", "causal mask"])
def test_a_layer(norm_first: bool, activation: str, kind: str) -> None:
    torch.manual_seed(0)
    options = {"batch_first": True, "norm_first": norm_first, "activation": activation}
    layer = nn.TransformerEncoderLayer(16, 4, 24, **options).eval()
    masks = {
        "plain": None,
        "bool mask": torch.eye(5).bool(),
        "causal mask": nn.Transformer.generate_square_subsequent_mask(5),
    }
    _check(Layer(layer, masks[kind]), (torch.randn(3, 5, 16),), _layer)


def test_an_encoder() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)
    _check(nn.TransformerEncoder(layer, 2).eval(), (torch.randn(2, 7, 16),), _layer)


@pytest.mark.parametrize("mask_type", [None, 0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_masks_of_every_type(mask_type: int | None, dtype: torch.dtype) -> None:
    """Nonzero elements of a mask in floats exclude positions, as in eager mode."""
    torch.manual_seed(0)
    batch, length, heads, features = 2, 5, 2, 16
    shapes = {0: (length, length), 1: (batch, length), 2: (batch, heads, length, length)}
    weights = [torch.randn(48, 16), torch.randn(48), torch.randn(16, 16), torch.randn(16)]
    mask = None
    if mask_type is not None:
        mask = torch.rand(shapes[mask_type]) < 0.4
        mask[..., 0] = False
        mask = mask if dtype is torch.bool else mask * -1.5

    for weighted, average in ((False, True), (True, False), (True, True)):

        def attend(x: Tensor, at: int = int(weighted), flags: tuple[bool, bool] = (weighted, average)) -> Tensor:
            return _attention(x, x, x, features, heads, *weights, mask, *flags, mask_type)[at]

        _check(Call(attend), (torch.randn(batch, length, features),), _attention)


@pytest.mark.parametrize("strict", [True, False])
def test_a_recipe_does_not_capture_them(strict: bool) -> None:
    """Recipes do not capture such operators, so that a quantizer finds the linear layers."""
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True).eval().requires_grad_(False)
    x = torch.randn(2, 5, 16)
    session = export_by_recipe(model, [(x,)], ExportRecipe(strict=strict))
    program = session.get_exported_program("forward")
    assert _layer not in [node.target for node in program.graph.nodes]
    assert torch.backends.mha.get_fastpath_enabled()
    (found,) = Runtime.get().load_program(session.get_pte_buffer()).load_method("forward").execute([x])
    torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)
