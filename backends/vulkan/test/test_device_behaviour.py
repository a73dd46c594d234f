# SPDX-License-Identifier: BSD-3-Clause
"""Methods that share weights, and timestamps of dispatches for the event tracer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from device_program import DeviceProgram
from hand_built import numbers
from torch import nn

from delegate_calls import check_wrong_counts
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import to_edge_transform_and_lower
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer


class Head(nn.Module):
    def __init__(self, shared: nn.Linear, scale: float) -> None:
        super().__init__()
        self.shared = shared
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.shared(x)) * self.scale


def test_methods_share_weights() -> None:
    """Two methods with one weight, and inputs of other sizes, in any order; the weight is stored once."""
    shared = nn.Linear(33, 17).eval()
    models = {"one": (Head(shared, 1.0), numbers(3, 33)), "two": (Head(shared, 2.0), numbers(5, 33))}
    exported = {name: torch.export.export(model, (x,)) for name, (model, x) in models.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()])
    data = edge.to_executorch().buffer
    weight = shared.weight.detach().numpy().tobytes()
    assert data.count(weight[:256]) == 1
    program = DeviceProgram(data)
    for name in ("one", "two", "one", "two", "two", "one"):
        model, x = models[name]
        with torch.no_grad():
            expected = model(x)
        program.check([x], expected, 1e-5, 1e-5, method=name)


def test_a_program_with_another_number_of_arguments() -> None:
    x = numbers(2, 16)
    edge = to_edge_transform_and_lower(torch.export.export(nn.Tanh(), (x,)), partitioner=[VulkanPartitioner()])
    check_wrong_counts(edge.to_executorch().buffer, (x,))


def test_a_program_outlives_another_with_its_weights() -> None:
    """The weights on the GPU are shared by all programs that use them."""
    model = Head(nn.Linear(16, 8).eval(), 1.0)
    x = numbers(2, 16)
    exported = torch.export.export(model, (x,))
    data = to_edge_transform_and_lower(exported, partitioner=[VulkanPartitioner()]).to_executorch().buffer
    first, second = DeviceProgram(data), DeviceProgram(data)
    with torch.no_grad():
        expected = model(x)
    first.check([x], expected, 1e-5, 1e-5)
    del first
    second.check([x], expected, 1e-5, 1e-5)


def traced(
    model: nn.Module, x: torch.Tensor, folder: Path, options: dict[str, Any], tolerance: float
) -> tuple[list[Any], list[str]]:
    """The events of two executions, and their names: the kernel, its types and the number of the dispatch."""
    partitioner = VulkanPartitioner(options)
    edge = to_edge_transform_and_lower(
        torch.export.export(model, (x,)), partitioner=[partitioner], generate_etrecord=True
    )
    program = edge.to_executorch()
    try:
        loaded = _load_for_executorch_from_buffer(program.buffer, enable_etdump=True)
    except RuntimeError as error:
        pytest.skip(str(error))
    for _ in range(2):
        with torch.no_grad():
            torch.testing.assert_close(loaded.forward([x])[0], model(x), rtol=1e-5, atol=tolerance)
    file, record = folder / "times.etdp", folder / "record.bin"
    loaded.write_etdump_result_to_file(str(file))
    from sdk.devtools import Inspector

    program.get_etrecord().save(str(record))
    inspector = Inspector(etdump_path=str(file), etrecord=str(record))
    events = [event for block in inspector.event_blocks for event in block.events if event.is_delegated_op]
    return events, [event.raw_delegate_debug_metadatas[0].decode().rstrip("\0") for event in events]


def kernels_of(names: list[str]) -> list[str]:
    """The kernels, without the copies to and from host-visible memory that some devices need."""
    return [name.rpartition("_")[0] for name in names if name.rpartition("_")[0] != "copy"]


class Views(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x).reshape(4, 6).unsqueeze(1)
        return torch.relu(y.permute(1, 0, 2).squeeze(0)).reshape(24)


def test_views_are_no_dispatches(tmp_path: Path) -> None:
    """A view that moves no elements is not a dispatch. With skip_memory_planning each view has its own memory, to which
    it is copied."""
    for options, views in ((None, 0), ({"skip_memory_planning": True}, 5)):
        _, names = traced(Views().eval(), numbers(2, 3, 4), tmp_path, options or {}, 1e-5)
        kernels = kernels_of(names)
        assert kernels.count("unary_float") == 2
        assert kernels.count("copy_nd_float") == views == len(kernels) - 2


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_times_of_dispatches(tmp_path: Path, half: bool) -> None:
    """VK-13: with an event tracer each dispatch has a time, which belongs to an operator of the model, and a name: the
    kernel, its types and the number of the dispatch."""
    model = nn.Sequential(nn.Linear(16, 8), nn.Sigmoid()).eval()
    events, names = traced(model, numbers(2, 16), tmp_path, {"force_fp16": half}, 1e-2 if half else 1e-5)
    kind = "half" if half else "float"
    assert kernels_of(names) == [f"matmul_{kind}", f"unary_{kind}"]
    assert [int(name.rpartition("_")[2]) for name in names] == list(range(len(names)))
    assert "aten.sigmoid.default" in [name for event in events for name in event.op_types]
    for event in events:
        assert event.perf_data is not None and len(event.perf_data.raw) == 2
        assert all(0 <= time < 1e4 for time in event.perf_data.raw)
