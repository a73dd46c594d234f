# SPDX-License-Identifier: BSD-3-Clause
"""The demo backends on the runtime: a delegate computes the same as eager PyTorch."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from demo_delegates import check, eager, needs_demo_backends, run, state_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.export import Dim, export

from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.test.backend_with_delegate_mapping_demo import BackendWithDelegateMappingDemo
from sdk.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from sdk.exir.backend.test.op_partitioner_demo import (
    AddAttributePartitionerDemo,
    AddMulPartitionerDemo,
    NonDecompTestPartitioner,
)
from sdk.exir.backend.utils import get_delegates
from sdk.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules

pytestmark = needs_demo_backends()


class Sin(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Foo(torch.nn.Module):
    """A model of two delegates, each with mm and add, and of a sub between them that runs on a kernel."""

    def forward(self, a, x, b):
        z = torch.mm(a, x) + b
        return torch.mm(z - a, x) + b


FOO_ARGS = tuple(torch.randn(2, 2) for _ in range(3))


def test_backends_of_the_package():
    """RTP-07: the backends that the bindings are linked with are registered in Python without further steps."""
    from sdk.runtime import Runtime

    names = Runtime.get().backend_registry.registered_backend_names
    assert {"BackendWithCompilerDemo", "BackendWithDelegateMappingDemo", "ExecutorBackend"} <= set(names)


def test_a_whole_module():
    """DEL-01, DEL-02, DEL-07, DEL-08, LOW-01 to LOW-04, ARC-16: the documented payload runs."""
    lowered = to_backend("BackendWithCompilerDemo", to_edge(export(Sin(), (torch.ones(1),))).exported_program(), [])
    entry = rb"1version:0#op:demo::aten\.sin\.default, numel:1, dtype:torch\.float32<debug_handle>\d+#"
    assert re.fullmatch(entry, lowered.processed_bytes)
    x = torch.tensor([0.75])
    assert run(lowered.buffer(), [[x]]) == eager(Sin(), [[x]])


def test_a_lowered_module_in_another_one():
    """DEL-01, DEL-09, LOW-05: a lowered module is used twice, between operators that run on kernels."""
    lowered = to_backend("BackendWithCompilerDemo", to_edge(export(Sin(), (torch.ones(1),))).exported_program(), [])

    class CompositeModel(torch.nn.Module):
        def __init__(self, lowerable):
            super().__init__()
            self.lowerable = lowerable
            self.bias = torch.ones(1) * 0.3

        def forward(self, x):
            a = self.lowerable(x)
            b = self.lowerable(a)
            return a, b, a + b + self.bias

    manager = to_edge(export(CompositeModel(lowered), (torch.ones(1),))).to_executorch()
    x = torch.tensor([2.0])
    torch.testing.assert_close(run(manager.buffer, [[x]]), eager(CompositeModel(Sin()), [[x]]))


def test_partitions_between_kernels():
    """DEL-01, DEL-11, DEL-23, LOW-06, LOW-07, EDGE-12: operators that no backend takes run on portable kernels."""
    edge = check(Foo(), [FOO_ARGS, [t * 2 for t in FOO_ARGS]], AddMulPartitionerDemo())
    assert len(get_delegates(edge.exported_program().graph)) == 2


def test_arithmetic_of_the_page():
    """LOW-09: add and mul go to two delegates, sub and div stay between them."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            x = x + y
            x = x * y
            x = x - y
            x = x / y
            x = x * y
            return x + y

    edge = check(Model(), [[torch.randn(1, 3), torch.rand(1, 3) + 1]], AddMulPartitionerDemo())
    program = edge.exported_program()
    payloads = [m.processed_bytes for m in get_lowered_backend_modules(program.graph_module)]
    assert [p.count(b"aten.add.Tensor") + p.count(b"aten.mul.Tensor") for p in payloads] == [2, 2]


class Owner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.tensor([[1.0], [2.0]]))

    def forward(self, x):
        return torch.cos(torch.sin(x) + self.p) - x


def test_a_weight_that_the_delegate_owns():
    """DEL-15: the tagged weight leaves the outer graph; the backend finds it in its named data."""
    edge = check(Owner(), [[torch.randn(2, 3)]], AddAttributePartitionerDemo())
    assert state_of(edge.exported_program()) == []
    (module,) = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert module.named_data_store_output.pte_data and b"w" in module.processed_bytes


def test_named_data_of_a_lowered_module():
    """DEL-05: `buffer()` includes the data that the backend stored outside of its payload."""

    class Sum(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x):
            return x + self.p

    lowered = to_backend("BackendWithCompilerDemo", to_edge(export(Sum(), (torch.ones(2),))).exported_program(), [])
    x = torch.tensor([5.0, 7.0])
    torch.testing.assert_close(run(lowered.buffer(), [[x]]), eager(Sum(), [[x]]))


def test_operators_that_stay_whole():
    """PTN-12: linear, attention and upsampling reach the backend undecomposed, and it computes them."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Linear(4, 4)

        def forward(self, x):
            y = torch.nn.functional.scaled_dot_product_attention(self.one(x), x, x, is_causal=True)
            z = y.unsqueeze(0)
            return (
                torch.nn.functional.interpolate(z, scale_factor=2.0),
                torch.nn.functional.interpolate(z, size=(5, 7)),
            )

    edge = check(Model().eval(), [[torch.randn(2, 3, 4)]], NonDecompTestPartitioner())
    program = edge.exported_program()
    taken = sorted(m.processed_bytes.split(b",")[0] for m in get_lowered_backend_modules(program.graph_module))
    assert [name.rpartition(b"::")[2] for name in taken] == [
        b"aten.linear.default",
        b"aten.scaled_dot_product_attention.default",
        b"aten.upsample_nearest2d.vec",
        b"aten.upsample_nearest2d.vec",
    ]


def test_sizes_that_change():
    """DEL-08: a delegate resizes its results according to its inputs, up to the bound of the export."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.mm(x, y) + 1.5 * x

    calls = [[torch.randn(n, 3), torch.randn(3, 3)] for n in (8, 1, 5)]
    check(Model(), calls, AddMulPartitionerDemo(), dynamic_shapes=({0: Dim("n", min=1, max=8)}, None))


def test_integers():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * 3 + x

    check(Model(), [[torch.tensor([1, -(2**40), 7])]], AddMulPartitionerDemo())


@pytest.mark.parametrize("partitioner", [ExecutorBackendPartitioner(), AllNodePartitioner("ExecutorBackend", [])])
def test_a_program_in_a_program(partitioner):
    """DEL-02, ETPM-14: the payload, which is itself a program, reaches init() unchanged, including its delegate
    calls."""
    x = torch.randn(2, 3)
    program = export(Owner(), (x,))
    inner = to_edge(program).to_backend(AddMulPartitionerDemo())
    outer = inner.to_backend(partitioner)
    (module,) = get_lowered_backend_modules(outer.exported_program().graph_module)
    assert module.backend_id == "ExecutorBackend" and b"BackendWithCompilerDemo" in module.processed_bytes
    buffer = outer.to_executorch().buffer
    assert module.processed_bytes in buffer
    torch.testing.assert_close(run(buffer, [[x], [-x]]), eager(Owner(), [[x], [-x]]))


def test_instructions_of_a_delegate_are_logged_by_number():
    """DBG-09, DBG-13: the demo of debug handle maps loads and runs. It computes nothing."""
    model, args = BackendWithDelegateMappingDemo.get_test_model_and_inputs()
    lowered = to_backend("BackendWithDelegateMappingDemo", to_edge(export(model, args)).exported_program(), [])
    ((output,),) = run(lowered.buffer(), [list(args)])
    assert output.shape == (1, 3, 8, 8)


def runner() -> Path | None:
    named = os.environ.get("SDK_EXECUTOR_RUNNER")
    path = Path(named).with_name("executor_runner_with_demo_backends") if named else None
    return path if path is not None and path.exists() else None


@pytest.mark.skipif(runner() is None, reason="the runner with demo backends is not built (set SDK_EXECUTOR_RUNNER)")
def test_linking_is_enough(tmp_path):
    """ETPM-15, LOW-11: a runner linked with a backend runs its programs; one that is not says what is missing."""
    manager = to_edge_transform_and_lower(export(Foo(), FOO_ARGS), partitioner=[AddMulPartitionerDemo()])
    manager.to_executorch().save(str(tmp_path / "foo.pte"))
    names = []
    for i, value in enumerate(FOO_ARGS):
        names.append(tmp_path / f"in{i}.bin")
        names[-1].write_bytes(value.numpy().tobytes())
    arguments = [f"--model_path={tmp_path / 'foo.pte'}", f"--inputs={','.join(map(str, names))}"]
    arguments.append(f"--output_file={tmp_path / 'out'}")
    done = subprocess.run([str(runner()), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = torch.frombuffer(bytearray((tmp_path / "out-0.bin").read_bytes()), dtype=torch.float32).reshape(2, 2)
    torch.testing.assert_close(found, Foo()(*FOO_ARGS))
    plain = [os.environ["SDK_EXECUTOR_RUNNER"], *arguments]
    done = subprocess.run(plain, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "not registered" in done.stderr and "BackendWithCompilerDemo" in done.stderr


PAYLOAD = b"2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32, args:i0;i1<debug_handle>1#"
PAYLOAD += b"op:demo::aten.add.Tensor, numel:4, dtype:torch.float32, args:v0;i2<debug_handle>2#"


@functools.cache
def a_program() -> bytes:
    class Part(torch.nn.Module):
        def forward(self, a, x, b):
            return torch.mm(a, x) + b

    edge = to_edge(export(Part(), FOO_ARGS)).exported_program()
    buffer = LoweredBackendModule(edge, "BackendWithCompilerDemo", PAYLOAD, []).buffer()
    assert buffer.count(PAYLOAD) == 1
    return buffer


def load_with(payload: bytes) -> None:
    """Runs a program in which this payload replaces the delegate's, which has the same length."""
    run(a_program().replace(PAYLOAD, payload.ljust(len(PAYLOAD), b"#")), [FOO_ARGS])


def test_a_payload_that_is_none():
    load_with(PAYLOAD)
    with pytest.raises(RuntimeError, match=r"is not a program of BackendWithCompilerDemo, version 0, from byte 1 on"):
        load_with(PAYLOAD.replace(b"version:0", b"version:1"))
    with pytest.raises(RuntimeError, match=r"BackendWithCompilerDemo has no operator aten.xx.default"):
        load_with(PAYLOAD.replace(b"aten.mm.default", b"aten.xx.default"))
    with pytest.raises(RuntimeError, match="its result is larger than the 3 elements planned for it"):
        load_with(PAYLOAD.replace(b"numel:4", b"numel:3"))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(PAYLOAD) - 1), st.binary(max_size=3))
def test_damaged_payloads(position, inserted):
    """Damaged bytes of a file are an error, not a crash."""
    damaged = (PAYLOAD[:position] + inserted + PAYLOAD[position + 1 :])[: len(PAYLOAD)]
    try:
        load_with(damaged)
    except RuntimeError as error:
        assert "[" in str(error)
