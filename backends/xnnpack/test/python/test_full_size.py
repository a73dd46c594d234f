# SPDX-License-Identifier: BSD-3-Clause
"""The transformers of docs/benchmarks.md at their full size have at most three delegates, and only views stay outside
them. test_transformers.py has small ones, but sizes decide which constants are folded."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from bench.models import PEER_MODELS
from bench.worker import load_model
from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates, get_non_lowered_nodes

MODELS = ("ViT-tiny", "MiniLM, 128 tokens", "decoder, prefill 64", "decoder, one token")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_transformers_lower_to_at_most_three_delegates(name: str) -> None:
    model, inputs = load_model(PEER_MODELS[name])
    with torch.no_grad():
        program = export(model, inputs)
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).exported_program()
    assert 1 <= len(get_delegates(lowered.graph)) <= 3
    left = [node.target.__name__ for node in get_non_lowered_nodes(lowered.graph)]
    # A cache that is written is copied back into its buffer at the end.
    assert [name for name in left if name not in ("aten.view_copy.default", "aten.copy_.default")] == []
