# SPDX-License-Identifier: BSD-3-Clause
"""Programs that run partly on kernels, so that the device gets sizes and constants that both read."""

from __future__ import annotations

import pytest
import torch
from device_program import DeviceProgram
from eager import Call
from hand_built import numbers
from torch import Tensor
from torch.export import Dim

from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.backends.vulkan.serialization import vulkan_graph_builder
from sdk.backends.vulkan.serialization.vulkan_graph_schema import SymInt
from sdk.exir import to_edge_transform_and_lower
from sdk.exir.backend.utils import get_delegates


def around_sorting(x: Tensor) -> tuple[Tensor, ...]:
    """The device has no sort, so there are two delegates, which both get the number of rows as an integer."""
    rows = x.shape[0]
    low = (x.reshape(rows, -1) * 2).sort(-1)[0]
    return low.reshape(rows, 4, -1), low.unsqueeze(1).expand(rows, 3, 24) + 1, low.sum(1).expand(2, rows) * 2


@pytest.mark.parametrize("is_written", [True, False], ids=["largest number written", "0 written"])
def test_sizes_that_kernels_compute(is_written: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """VK-02: payloads of the original have 0 for symbolic integers, whose values are known when the program runs."""
    if not is_written:
        monkeypatch.setattr(vulkan_graph_builder.schema, "SymInt", lambda value: SymInt(0))
    model = Call(around_sorting)
    exported = torch.export.export(model, (numbers(5, 4, 6),), dynamic_shapes=(({0: Dim("rows", min=2, max=9)},),))
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()])
    assert len(get_delegates(edge.exported_program().graph)) >= 2
    program = DeviceProgram(edge.to_executorch().buffer)
    for rows in (9, 2, 5, 9):
        x = numbers(rows, 4, 6, seed=rows)
        program.check((x,), model(x), 1e-5, 1e-5)


def test_constants_that_several_parts_are_computed_of() -> None:
    """A scalar that two delegates and a kernel read stays outside, and so do values computed from it."""

    def between(x: Tensor) -> Tensor:
        columns, rows = (torch.arange(float(n)) * 0.618 % 1.0 for n in (6, 4))
        low = (x * 2 + columns).sort(-1)[0]
        return (low * 3 + rows[:, None]).sort(-1)[0] + torch.arange(6.0) * 0.618 % 1.0

    model, x = Call(between), numbers(5, 4, 6)
    edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[VulkanPartitioner()])
    assert len(get_delegates(edge.exported_program().graph)) >= 1
    DeviceProgram(edge.to_executorch().buffer).check((x,), model(x), 1e-5, 1e-5)
