# SPDX-License-Identifier: BSD-3-Clause
"""The same fault gives the same error code in each backend that this machine can run."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from backends.targets import Target, targets
from delegate_calls import check_wrong_counts
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings import portable_lib

BACKENDS = [
    target
    for target in targets()
    if target.backend is not None and target.backend.id in portable_lib._get_registered_backend_names()
]


@pytest.mark.parametrize("target", BACKENDS, ids=lambda target: target.name)
def test_a_program_with_another_number_of_arguments(target: Target) -> None:
    class Sum(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return a + b

    inputs = (torch.ones(2, 3), torch.ones(2, 3))
    edge = to_edge_transform_and_lower(torch.export.export(Sum(), inputs), partitioner=target.partitioners())
    check_wrong_counts(edge.to_executorch().buffer, inputs)
