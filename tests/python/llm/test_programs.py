# SPDX-License-Identifier: BSD-3-Clause
"""Language models as programs: exported with their cache, they continue sequences as eager does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import ARCHITECTURES, small
from torch import Tensor
from torch.export import Dim

from declared import default
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates
from sdk.extension.llm.export.checkpoint import set_weights
from sdk.runtime import Runtime

CALLS = [(0, 1), (0, 7), (7, 8), (8, 9), (9, 40), (0, 32), (32, 34), (34, 35)]
"""The first position of each call, and the one after its last."""


@pytest.mark.sampled
@pytest.mark.parametrize("delegated", [False, True], ids=["portable", "delegated"])
@pytest.mark.parametrize("operator", [False, True], ids=["sdpa", "custom_sdpa"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_programs_continue_sequences(architecture: str, operator: bool, delegated: bool):
    """LC-03: any number of tokens per call, from one to the whole context."""
    torch.manual_seed(0)
    model = small(use_kv_cache=True, use_sdpa_with_kv_cache_op=operator, **ARCHITECTURES[architecture])
    reference = small(use_kv_cache=True, **ARCHITECTURES[architecture])
    set_weights(reference, dict(model.named_parameters()))
    example: Any = (torch.zeros(1, 3, dtype=torch.int64), {"input_pos": torch.tensor([0])})
    shapes = ({1: Dim("tokens", min=1, max=40)}, {"input_pos": None})
    exported = torch.export.export(model, example, dynamic_shapes=shapes)
    partitioners = [default().make("partitioner")] if delegated else []
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioners)
    if delegated:
        delegates = len(get_delegates(lowered.exported_program().graph))
        assert delegates == (1 if not operator else 3)
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    tokens = torch.randint(0, 96, (1, 40))
    for first, last in CALLS:
        position = torch.tensor([first])
        with torch.no_grad():
            expected: Tensor = reference(tokens[:, first:last], {"input_pos": position})
        torch.testing.assert_close(method.execute([tokens[:, first:last], position])[0], expected, rtol=1e-4, atol=1e-4)
