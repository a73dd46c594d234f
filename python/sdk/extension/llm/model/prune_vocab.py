# SPDX-License-Identifier: BSD-3-Clause
"""Layers of a part of the vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def prune_output_vocab(model: nn.Module, token_map: dict[int, int], output_layer_name: str = "output") -> nn.Module:
    """Replaces a linear layer by one whose row i is row `token_map[i]`. Returns the model.

    Raises ValueError for a layer that is not there or of another kind, and if the map does not map 0, 1, ... to rows.
    `ModelArgs.output_prune_map` restores the positions of the tokens in the logits.
    """
    layer = _layer(model, output_layer_name, nn.Linear)
    rows = _rows(token_map, layer.weight)
    pruned = nn.Linear(layer.weight.shape[1], len(rows), layer.bias is not None, dtype=layer.weight.dtype)
    pruned.load_state_dict({name: value[rows] for name, value in layer.state_dict().items()})
    setattr(model, output_layer_name, pruned)
    return model


def prune_input_vocab(
    model: nn.Module, token_map: dict[int, int], imput_layer_name: str = "tok_embeddings"
) -> nn.Module:
    """Replaces an embedding by one whose row i is row `token_map[i]`, as `prune_output_vocab`."""
    layer = _layer(model, imput_layer_name, nn.Embedding)
    rows = _rows(token_map, layer.weight)
    pruned = nn.Embedding(len(rows), layer.weight.shape[1], dtype=layer.weight.dtype)
    pruned.load_state_dict({"weight": layer.weight[rows]})
    setattr(model, imput_layer_name, pruned)
    return model


def _layer(model: nn.Module, name: str, kind: type[nn.Module]) -> nn.Module:
    layer = getattr(model, name, None)
    if not isinstance(layer, kind):
        raise ValueError(f"{name}: expected a {kind.__name__} of the model, found {type(layer).__name__}")
    return layer


def _rows(token_map: dict[int, int], weight: Tensor) -> Tensor:
    rows = [token_map.get(row, -1) for row in range(len(token_map))]
    if not rows or not all(0 <= row < len(weight) for row in rows):
        raise ValueError(f"expected a map of 0 to {len(token_map) - 1} to rows below {len(weight)}")
    return torch.tensor(rows)
