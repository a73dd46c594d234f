# SPDX-License-Identifier: BSD-3-Clause
"""Instance norms with running statistics, which coremltools' converter ignores."""

from __future__ import annotations

import pytest
import torch
from lowering import FP32, Lowered, difference, in_float32, lower

from sdk.exir import to_edge

NORMS = {1: torch.nn.InstanceNorm1d, 2: torch.nn.InstanceNorm2d, 3: torch.nn.InstanceNorm3d}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("rank", NORMS)
def test_running_statistics_count(rank: int, affine: bool, tracked: bool) -> None:
    torch.manual_seed(0)
    model = NORMS[rank](4, affine=affine, track_running_stats=tracked).eval()
    if affine:
        torch.nn.init.normal_(model.weight)
        torch.nn.init.normal_(model.bias)
    if tracked:
        model.running_mean, model.running_var = torch.randn(4), torch.rand(4) + 0.5
    inputs = (3 * torch.randn(2, 4, *(5, 6, 7)[:rank]) + 1,)
    lowered = lower(model, inputs, FP32)
    # With running statistics the norm is decomposed to a batch norm, whose other two results are empty and not read.
    assert not lowered.outside, lowered.refusals
    assert difference(lowered.run(*inputs), model(*inputs)) <= 1e-4


@pytest.mark.parametrize("decompose", [False, True])
def test_results_that_nothing_reads_may_be_empty(decompose: bool) -> None:
    """A batch norm for inference has results that nothing reads, also in the form to which to_edge decomposes it."""
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.ReLU()).eval()
    model[0].running_mean, model[0].running_var = torch.randn(4), torch.rand(4) + 0.5
    inputs = (torch.randn(3, 4),)
    program = torch.export.export(model, inputs)
    if decompose:
        manager = to_edge(program).to_backend(in_float32())
        lowered = Lowered(manager)
    else:
        lowered = lower(model, inputs, FP32)
    assert not lowered.outside, lowered.refusals
    assert difference(lowered.run(*inputs), model(*inputs)) <= 1e-4
