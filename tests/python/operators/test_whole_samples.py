# SPDX-License-Identifier: BSD-3-Clause
"""Functions of several operators on PyTorch's own samples, exported as models and compared with eager."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sample_program
import torch
from sample_program import Sample, tensors_of
from torch.testing._internal.common_methods_invocations import op_db

from sdk.exir import to_edge
from sdk.extension.pybindings import portable_lib


def samples(name: str, dtype: torch.dtype) -> Iterator[Sample]:
    (op,) = (op for op in op_db if op.name == name)
    return sample_program.samples(op, dtype)


def run(model: Sample) -> list[torch.Tensor]:
    program = to_edge(torch.export.export(model, model.inputs())).to_executorch()
    return tensors_of(portable_lib._load_for_executorch_from_buffer(program.buffer).forward(model.inputs()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_soft_margin_loss(dtype: torch.dtype) -> None:
    overflows = False
    for sample in samples("nn.functional.soft_margin_loss", dtype):
        (expected,) = tensors_of(sample(*sample.inputs()))
        overflows = overflows or bool(expected.isinf().any())
        torch.testing.assert_close(run(sample), [expected])
    assert overflows == (dtype == torch.float16)


DROPOUT = 10
"""The index of the dropout rate among the arguments of multi_head_attention_forward."""


@pytest.mark.sampled
@pytest.mark.parametrize("part", range(6))
def test_multi_head_attention_forward(part: int) -> None:
    """The attention scores of these samples are in the thousands, so their rounding errors after softmax are large and
    eager and the runtime differ. Both are therefore compared with the result in float64. Dropout is turned off."""
    for i, sample in enumerate(samples("nn.functional.multi_head_attention_forward", torch.float32)):
        if i % 36 != 6 * part:
            continue
        assert isinstance(sample.leaves[DROPOUT], float)
        sample.leaves[DROPOUT] = 0.0
        inputs = sample.inputs()
        exact = sample(*(x.double() if x.is_floating_point() else x for x in inputs))
        for result, eager, expected in zip(run(sample), tensors_of(sample(*inputs)), tensors_of(exact), strict=True):
            allowed = 4 * (eager.double() - expected).abs().max() + 1e-5 + 1.3e-6 * expected.abs().max()
            assert (result.double() - expected).abs().max() <= allowed, f"sample {i}"
