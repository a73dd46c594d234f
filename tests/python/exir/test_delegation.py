# SPDX-License-Identifier: BSD-3-Clause
"""The demo backends: each shows one part of the interface between the compiler and a backend."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir._serialize._program import deserialize_pte_binary
from sdk.exir.backend.backend_api import to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from sdk.exir.backend.test.backend_with_delegate_mapping_demo import BackendWithDelegateMappingDemo
from sdk.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from sdk.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from sdk.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from sdk.exir.backend.test.device_util import CpuOnlyPartitioner, DeviceAwarePartitioner
from sdk.exir.backend.test.hta_partitioner_demo import (
    HTAPartitionerMultiplePatternsDemo,
    HTAPartitionerOnePatternDemo,
)
from sdk.exir.backend.test.op_partitioner_demo import (
    AddAttributePartitionerDemo,
    AddMulPartitionerDemo,
    AllNodesPartitionerDemo,
    NonDecompTestPartitioner,
)
from sdk.exir.backend.utils import format_delegated_graph, get_delegates, get_non_lowered_nodes, print_delegated_graph
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.graph_module import get_control_flow_submodules
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from sdk.exir.passes.propagate_device_pass import _get_target_device_from_compile_specs, _parse_device_spec_value
from sdk.exir.print_program import inspect_node
from sdk.exir.schema import DeviceType


class Arithmetic(torch.nn.Module):
    """cos(sin(x) + p) - x"""

    def __init__(self) -> None:
        super().__init__()
        self.p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return torch.cos(torch.sin(x) + self.p) - x


def lower(model, args, partitioner):
    program = to_backend(to_edge(export(model, args)).exported_program(), partitioner)
    with torch.no_grad():
        torch.testing.assert_close(program.module()(*args), model(*args))
    return program


def test_neighbours_of_two_backends():
    """DEL-17, EDGE-08: a delegate may read the result of another delegate."""
    x = torch.tensor([0.5, -1.0])
    program = lower(Arithmetic(), (x,), BackendWithPreprocessAllPartitioner())
    first, second = get_lowered_backend_modules(program.graph_module)
    assert [first.backend_id, second.backend_id] == ["FirstBackendWithPreprocessAll", "SecondBackendWithPreprocessAll"]
    assert [s.kind.name for s in program.graph_signature.input_specs] == ["USER_INPUT"]
    assert get_non_lowered_nodes(program.graph) == []
    calls = [n for n in program.graph.nodes if n.target is executorch_call_delegate]
    assert calls[1].args[1].args[0] is calls[0]


def test_a_backend_compiles_all_methods_at_once():
    """DEL-14: `preprocess_multimethod` sees the partitions of every method."""
    program = export(Arithmetic(), (torch.ones(2),))
    manager = to_edge({"one": program, "two": program}).to_backend(BackendWithPreprocessAllPartitioner())
    for method in manager.methods:
        first, second = get_lowered_backend_modules(manager.exported_program(method).graph_module)
        assert first.processed_bytes.startswith(b"FirstBackend#4#aten.sin.default,aten.add.Tensor:sin:")
        assert second.processed_bytes.startswith(b"SecondBackend#4#aten.cos.default,aten.sub.Tensor:cos:")


def test_payload_reaches_the_program_unchanged():
    """DEL-14, ETPM-14, DEL-22"""
    manager = to_edge(export(Arithmetic(), (torch.ones(2),))).to_backend(AddMulPartitionerDemo())
    payload = manager.exported_program().graph_module.lowered_module_0.processed_bytes
    buffer = manager.to_executorch().buffer
    assert payload in buffer
    plan = deserialize_pte_binary(buffer).program.execution_plan[0]
    assert [d.id for d in plan.delegates] == ["BackendWithCompilerDemo"]
    assert [(s.key, s.value) for s in plan.delegates[0].compile_specs] == [("max_value", b"\x04")]
    kinds = [type(i.instr_args).__name__ for i in plan.chains[0].instructions]
    assert kinds.count("DelegateCall") == 1


def test_debug_handle_maps():
    """DEL-21: a fused and a decomposed instruction lead back to the nodes they came from."""
    model, args = BackendWithDelegateMappingDemo.get_test_model_and_inputs()
    edge = to_edge(export(model, args)).exported_program()
    lowered = to_backend("BackendWithDelegateMappingDemo", edge, [])
    handle = {n.name: n.meta["debug_handle"] for n in edge.graph.nodes if n.op == "call_function"}
    first = (handle["aten_convolution_default"], handle["aten_relu_default"])
    second = (handle["aten_convolution_default_1"], handle["aten_relu_default_1"])
    tan = (handle["aten_tan_default"],)
    assert lowered.meta["debug_handle_map"] == {0: first, 1: second, 2: tan, 3: tan, 4: tan}
    assert lowered.processed_bytes.split(b",")[0] == b"5#conv_relu_op"
    with pytest.raises(RuntimeError, match="aten_sin_default is neither"):
        to_backend(
            "BackendWithDelegateMappingDemo", to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program(), []
        )


def test_named_data_is_stored_beside_the_program():
    """DEL-14: delegates name their data by keys; equal bytes under several keys are stored once."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.sin(x + y - x) * y

    args = (torch.ones(2), torch.ones(2))
    manager = to_edge(export(Model(), args)).to_backend(BackendWithNDMPartitioner())
    file = deserialize_pte_binary(manager.to_executorch().buffer)
    keys = file.named_data.pte_data
    assert {k: file.named_data.buffers[e.buffer_index] for k, e in keys.items()} == {
        "aten.add.Tensor": bytes(1),
        "aten.sub.Tensor": bytes(2),
        "aten.mul.Tensor": bytes(3),
    }


def test_chained_backends():
    """DEL-16: the second call lowers what the first one left."""
    edge = to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program()
    once = to_backend(edge, CpuOnlyPartitioner())
    assert [n.target for n in get_non_lowered_nodes(once.graph)] == [
        exir_ops.edge.aten.sin.default,
        exir_ops.edge.aten.cos.default,
        exir_ops.edge.aten.sub.Tensor,
    ]
    twice = to_backend(once, BackendWithPreprocessAllPartitioner())
    ids = [m.backend_id for m in get_lowered_backend_modules(twice.graph_module)]
    assert sorted(ids) == [
        "BackendWithCompilerDemo",
        "FirstBackendWithPreprocessAll",
        "SecondBackendWithPreprocessAll",
    ]
    x = torch.tensor([0.25, 3.0])
    torch.testing.assert_close(twice.module()(x), edge.module()(x))


def test_owned_and_borrowed_weights():
    """DEL-15: a tagged weight leaves the outer program."""
    edge = to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program()
    borrowed = to_backend(edge, AddMulPartitionerDemo())
    owned = to_backend(edge, AddAttributePartitionerDemo())
    assert list(borrowed.state_dict) == ["p"]
    assert list(owned.state_dict) == []
    assert list(owned.graph_module.lowered_module_0.original_module.state_dict) == ["p"]


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.zeros(2, 3))

    def forward(self, q, k, position):
        keys = torch.ops.aten.index_put_(self.b, [position, None], k)
        return keys.mm(q.transpose(0, 1))


def test_owned_state():
    """DEL-15: state that the demo partitioner gives to a delegate leaves the outer program."""
    model, inputs = Cache(), (torch.rand(1, 3), torch.rand(1, 3), torch.tensor([1, 1]))
    expected = model(*inputs)
    model.b.zero_()
    lowered = to_backend(to_edge(export(model, inputs)).exported_program(), AllNodesPartitionerDemo())
    assert not lowered.graph_signature.buffers_to_mutate and not lowered.state_dict
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    owned = module.original_module
    assert list(owned.state_dict) == ["b"]
    assert list(owned.graph_signature.buffers_to_mutate.values()) == ["b"]
    torch.testing.assert_close(lowered.module()(*inputs), expected)


def test_delegates_inside_branches():
    """DEL-12: partitions in the branches of cond, with a Linear in one of them."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.linear(x) + 1, lambda x: torch.mm(x, x) + x, [x])

    for sign in (1, -1):
        args = (sign * torch.ones(3, 3),)
        program = lower(Model().eval(), args, AddMulPartitionerDemo())
        branches = get_control_flow_submodules(program.graph_module)
        assert [len(get_delegates(branch.graph)) for _, branch, _ in branches] == [1, 1]
        assert len(get_lowered_backend_modules(program.graph_module)) == 2


def test_operators_that_stay_whole():
    """PTN-12, EDGE-07: a linear without bias is refused by the filter, and decomposed."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = torch.nn.Linear(4, 4)
            self.two = torch.nn.Linear(4, 4, bias=False)

        def forward(self, x):
            return self.two(torch.nn.functional.scaled_dot_product_attention(self.one(x), x, x))

    args = (torch.randn(2, 1, 4),)
    manager = to_edge_transform_and_lower(export(Model().eval(), args), partitioner=[NonDecompTestPartitioner()])
    program = manager.exported_program()
    taken = {m.processed_bytes.split(b",")[0] for m in get_lowered_backend_modules(program.graph_module)}
    assert taken == {
        b"1version:0#op:demo::aten.linear.default",
        b"1version:0#op:demo::aten.scaled_dot_product_attention.default",
    }
    left = {n.target.__name__ for n in get_non_lowered_nodes(program.graph)}
    assert "aten.linear.default" not in left and "aten.mm.default" in left


def test_backend_that_is_the_runtime_itself():
    """DEL-02: programs inside programs, delegate calls included."""
    args = (torch.tensor([0.5, 2.0]),)
    edge = to_edge(export(Arithmetic(), args)).exported_program()
    inner = to_backend(edge, AddMulPartitionerDemo())
    for partitioner in (ExecutorBackendPartitioner(), AllNodesPartitionerDemo()):
        outer = to_backend(inner, partitioner)
        assert [m.backend_id for m in get_lowered_backend_modules(outer.graph_module)] == ["ExecutorBackend"]
        payload = outer.graph_module.lowered_module_0.processed_bytes
        plan = deserialize_pte_binary(payload).program.execution_plan[0]
        assert [d.id for d in plan.delegates] == ["BackendWithCompilerDemo"]
        torch.testing.assert_close(outer.module()(*args), edge.module()(*args))


def test_patterns_of_models():
    """PTN-06: subgraphs that look like the graph of another model."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(32, 32)
            self.conv = torch.nn.Conv1d(1, 2, 1, stride=2)

        def forward(self, x, h, c):
            output, (h, c) = self.lstm(x, (h, c))
            return torch.sin(self.conv(output) - self.conv(h)), c

    args = (torch.randn(1, 32), torch.randn(1, 32), torch.randn(1, 32))
    many = lower(Model().eval(), args, HTAPartitionerMultiplePatternsDemo())
    assert {m.backend_id for m in get_lowered_backend_modules(many.graph_module)} == {"DemoBackend"}
    targets = [n.target for m in get_lowered_backend_modules(many.graph_module) for n in m.original_module.graph.nodes]
    assert exir_ops.edge.aten.sub.Tensor in targets
    assert exir_ops.edge.aten.sin.default not in targets
    assert (
        HTAPartitionerOnePatternDemo()
        .patterns[0]
        .find_nodes(op="call_function", target=exir_ops.edge.aten.convolution.default)
    )


def test_devices_of_compile_specs():
    """The compile spec `target_device` sets a delegate's device."""
    args = (torch.ones(2),)
    aware = lower(Arithmetic(), args, DeviceAwarePartitioner("cuda:1")).graph_module.lowered_module_0
    assert _get_target_device_from_compile_specs(aware) == (DeviceType.CUDA, 1)
    plain = lower(Arithmetic(), args, CpuOnlyPartitioner()).graph_module.lowered_module_0
    assert _get_target_device_from_compile_specs(plain) is None
    assert _parse_device_spec_value(b"CPU") == (DeviceType.CPU, 0)
    for value in (b"", b"cuda:", b"cuda:x", b"tpu", b"cuda:-1", b"\xff"):
        with pytest.raises(ValueError, match="expected a device"):
            _parse_device_spec_value(value)


def test_the_delegated_graph_as_text(capsys):
    """DEL-10: the graph, and the graphs of the lowered parts."""
    program = lower(Arithmetic(), (torch.ones(2),), AddMulPartitionerDemo())
    text = format_delegated_graph(program.graph_module)
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "get_attr[target=lowered_module_0]" in line)
    assert lines[at + 1 : at + 3] == ["    backend_id: BackendWithCompilerDemo", "    lowered graph():"]
    assert text.count("aten.add.Tensor") == 1
    assert lines[-1] == "  return (aten_sub_tensor,)"
    print_delegated_graph(program.graph_module)
    assert capsys.readouterr().out == text + "\n"


def test_a_node_and_its_source():
    """DEL-19"""
    program = to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program()
    node = next(n for n in program.graph.nodes if n.name == "aten_cos_default")
    text = inspect_node(program.graph, node)
    assert text.startswith("aten_cos_default error_msg: Here is the node in the graph module:\n")
    assert sum(line.startswith("-->") for line in text.splitlines()) == 1
    assert "This node aten_cos_default has metadata of:" in text
    assert "torch.cos(torch.sin(x) + self.p) - x" in text


def test_partitioning_only_tags():
    """DEL-12, DEL-13"""
    program = to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program()
    before = str(program)
    result = AddMulPartitionerDemo().partition(program)
    assert str(result.tagged_exported_program) == before
    tagged = {n.name: n.meta["delegation_tag"] for n in program.graph.nodes if "delegation_tag" in n.meta}
    assert tagged == {"aten_add_tensor": "tag0"}
    assert result.partition_tags["tag0"].backend_id == "BackendWithCompilerDemo"


def test_a_partitioner_without_tags():
    """EDGE-13"""

    class Untagged(Partitioner):
        def partition(self, exported_program):
            return PartitionResult(exported_program, None)

    with pytest.raises(AssertionError, match="needs a `partition_tags` field"):
        to_edge(export(Arithmetic(), (torch.ones(2),))).to_backend(Untagged())


def test_what_a_backend_does_not_support():
    """DEL-08: the error says what the backend got, and what it supports."""
    with pytest.raises(RuntimeError, match=r"aten.cos.default is not supported in backend BackendWithCompilerDemo"):
        to_backend(
            BackendWithCompilerDemo.__name__, to_edge(export(Arithmetic(), (torch.ones(2),))).exported_program(), []
        )


def test_a_backend_must_return_bytes():
    """DEL-14"""

    class TextBackend(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return PreprocessResult("text")

    class All(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.op == "call_function":
                    node.meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {"t": DelegationSpec("TextBackend", [])})

    with pytest.raises(TypeError, match=r"TextBackend\.preprocess must return bytes, got str"):
        to_edge(export(Arithmetic(), (torch.ones(2),))).to_backend(All())
