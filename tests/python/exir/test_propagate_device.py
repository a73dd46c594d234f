# SPDX-License-Identifier: BSD-3-Clause
"""Delegates on devices: the memory of their tensors, and the copies between host and device."""

from __future__ import annotations

import torch
from torch.export import export

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir.backend.test.device_util import CpuOnlyPartitioner, DeviceAwarePartitioner
from sdk.exir.passes import MemoryPlanningPass
from sdk.exir.passes.propagate_device_config import PropagateDeviceConfig
from sdk.exir.schema import DelegateCall, DeviceType, ExecutionPlan, KernelCall, NonConstBufferDevice, Tensor

X = (torch.randn(2, 3), torch.randn(2, 3))
H2D, D2H, DELEGATE = "et_copy::_h2d_copy", "et_copy::_d2h_copy", "delegate"


class Add(torch.nn.Module):
    def forward(self, a, b):
        return a + b


class AddSubAdd(torch.nn.Module):
    """Two delegates with an operator of the host between them."""

    def forward(self, a, b):
        return ((a + b) - a) + b


class WithBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(2, 3))

    def forward(self, a):
        self.state.mul_(a)
        return self.state + a


def plan(module: torch.nn.Module, inputs=X, partitioner=None, **options) -> ExecutionPlan:
    edge = to_edge(export(module.eval(), inputs)).to_backend(partitioner or DeviceAwarePartitioner("cuda:1"))
    return edge.to_executorch(ExecutorchBackendConfig(**options)).executorch_program.execution_plan[0]


def steps(plan: ExecutionPlan) -> list[str]:
    """The names of the operators that run, in order."""
    names = []
    for instruction in plan.chains[0].instructions:
        args = instruction.instr_args
        if isinstance(args, KernelCall):
            names.append(plan.operators[args.op_index].name)
        elif isinstance(args, DelegateCall):
            names.append(DELEGATE)
    return names


def device(plan: ExecutionPlan, value: int) -> tuple[DeviceType, int]:
    tensor = plan.values[value].val
    assert isinstance(tensor, Tensor)
    info = tensor.extra_tensor_info
    return (info.device_type, info.device_index) if info else (DeviceType.CPU, 0)


def tensors_of_delegates(plan: ExecutionPlan) -> set[tuple[DeviceType, int]]:
    calls = [i.instr_args for i in plan.chains[0].instructions if isinstance(i.instr_args, DelegateCall)]
    return {device(plan, v) for call in calls for v in call.args if isinstance(plan.values[v].val, Tensor)}


def test_the_delegates_tensors_are_copied():
    result = plan(Add())
    assert steps(result) == [H2D, H2D, DELEGATE, D2H]
    assert tensors_of_delegates(result) == {(DeviceType.CUDA, 1)}
    assert {device(result, v) for v in [*result.inputs, *result.outputs]} == {(DeviceType.CPU, 0)}
    # One arena on the host, and one on the device, which contains no tensor of the host.
    assert len(result.non_const_buffer_sizes) == 3
    assert result.non_const_buffer_device == [NonConstBufferDevice(2, DeviceType.CUDA, 1)]
    for index, value in enumerate(result.values):
        if isinstance(value.val, Tensor) and value.val.allocation_info:
            on_device = value.val.allocation_info.memory_id == 2
            assert on_device == (device(result, index)[0] == DeviceType.CUDA)


class PoolForSums(MemoryPlanningPass):
    """Puts the host's results of `sub` into a memory that only custom passes use."""

    def run(self, graph_module, graph_signature=None):
        for node in graph_module.graph.nodes:
            if "sub" in str(node.target):
                node.meta["spec"].mem_id = 3
        return super().run(graph_module, graph_signature)


def test_memory_ids_of_custom_passes_stay():
    """MEM-10: the device's memory gets an id after those that a custom pass chose. ExecuTorch refuses to use both."""
    result = plan(AddSubAdd(), memory_planning_pass=PoolForSums())
    sizes = result.non_const_buffer_sizes
    assert len(sizes) == 5 and sizes[2] == 0 and min(sizes[1], sizes[3], sizes[4]) > 0
    assert result.non_const_buffer_device == [NonConstBufferDevice(4, DeviceType.CUDA, 1)]
    places: dict[int, set[DeviceType]] = {}
    for index, value in enumerate(result.values):
        if isinstance(value.val, Tensor) and value.val.allocation_info:
            places.setdefault(value.val.allocation_info.memory_id, set()).add(device(result, index)[0])
    assert places == {1: {DeviceType.CPU}, 3: {DeviceType.CPU}, 4: {DeviceType.CUDA}}


def test_between_delegates_only_what_the_host_reads_is_copied():
    result = plan(AddSubAdd())
    # b is on the device already when the second delegate needs it.
    assert steps(result) == [H2D, H2D, DELEGATE, D2H, "aten::sub", H2D, DELEGATE, D2H]


def test_callers_that_have_device_memory():
    result = plan(Add(), propagate_device_config=PropagateDeviceConfig(True, False))
    assert steps(result) == [DELEGATE, D2H]
    assert {device(result, v) for v in result.inputs} == {(DeviceType.CUDA, 1)}
    result = plan(Add(), propagate_device_config={"forward": PropagateDeviceConfig(True, True)})
    assert steps(result) == [DELEGATE]
    assert {device(result, v) for v in result.outputs} == {(DeviceType.CUDA, 1)}
    # The host reads a too, so a stays on the host and is copied to the device.
    result = plan(AddSubAdd(), propagate_device_config=PropagateDeviceConfig(True, True))
    assert steps(result) == [H2D, DELEGATE, D2H, "aten::sub", H2D, DELEGATE]


def test_buffers_stay_on_the_host():
    result = plan(
        WithBuffer(),
        X[:1],
        propagate_device_config=PropagateDeviceConfig(True, True),
        emit_mutable_buffer_names=True,
    )
    assert H2D in steps(result)
    buffers = [
        index
        for index, value in enumerate(result.values)
        if isinstance(value.val, Tensor) and (info := value.val.extra_tensor_info) and info.fully_qualified_name
    ]
    assert buffers and all(device(result, v) == (DeviceType.CPU, 0) for v in buffers)


def test_without_a_device_or_without_its_memory_nothing_is_copied():
    for result in (plan(Add(), partitioner=CpuOnlyPartitioner()), plan(Add(), enable_non_cpu_memory_planning=False)):
        assert steps(result) == [DELEGATE]
        assert tensors_of_delegates(result) == {(DeviceType.CPU, 0)}
        assert not result.non_const_buffer_device
    assert steps(plan(Add(), partitioner=DeviceAwarePartitioner("cpu"))) == [DELEGATE]
