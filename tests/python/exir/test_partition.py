# SPDX-License-Identifier: BSD-3-Clause
"""Partitioners, `to_backend` and lowered modules."""

from __future__ import annotations

import pytest
import torch
from torch._export.utils import get_param, is_param
from torch.export import export

from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_api import to_backend, validation_disabled
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.utils import DelegateMappingBuilder, get_delegates, get_non_lowered_nodes, tag_constant_data
from sdk.exir.delegate import executorch_call_delegate
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.lowered_backend_module import get_lowered_submodules


class NamesBackend(BackendDetails):
    """A backend whose payload lists its operators."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        names = [n.name for n in edge_program.graph.nodes if n.op == "call_function"]
        return PreprocessResult(processed_bytes=",".join(names).encode())


class WeightsBackend(BackendDetails):
    """A backend whose payload is the weights that its operators read, in their order."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        read = (get_param(edge_program, n) for n in edge_program.graph.nodes if is_param(edge_program, n))
        return PreprocessResult(processed_bytes=b"".join(p.detach().numpy().tobytes() for p in read))


class RunsPartitioner(Partitioner):
    """Tags every run of consecutive operators of the given kinds."""

    def __init__(self, ops, backend="NamesBackend", keep=()):
        super().__init__()
        self.ops, self.backend, self.keep = set(ops), backend, list(keep)

    def ops_to_not_decompose(self, ep):
        return self.keep, None

    def partition(self, exported_program):
        tags, current = {}, None
        for node in exported_program.graph.nodes:
            if node.op != "call_function":
                continue
            if node.target not in self.ops:
                current = None
                continue
            current = current or f"{self.backend}_{len(tags)}"
            node.meta["delegation_tag"] = current
            tags[current] = DelegationSpec(self.backend, [CompileSpec("k", b"v")])
        tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class Foo(torch.nn.Module):
    def forward(self, a, x, b):
        y = torch.mm(a, x)
        z = y + b
        a = z - a
        y = torch.mm(a, x)
        return y + b


ARGS = tuple(torch.randn(2, 2) for _ in range(3))
MM_ADD = (exir_ops.edge.aten.mm.default, exir_ops.edge.aten.add.Tensor)


def test_partitions_become_delegate_calls():
    """EDGE-12, DEL-11, DEL-12"""
    edge = to_edge(export(Foo(), ARGS))
    before = str(edge.exported_program())
    lowered = edge.to_backend(RunsPartitioner(MM_ADD)).exported_program()
    calls = [n for n in lowered.graph.nodes if n.op == "call_function"]
    delegates = [n for n in calls if n.target is executorch_call_delegate]
    assert len(delegates) == 2
    assert [n.target for n in get_non_lowered_nodes(lowered.graph)] == [exir_ops.edge.aten.sub.Tensor]
    assert len(get_delegates(lowered.graph)) == 2
    assert lowered.graph_module.lowered_module_0.processed_bytes == b"aten_mm_default,aten_add_tensor"
    assert str(edge.exported_program()) == before
    torch.testing.assert_close(lowered.module()(*ARGS), Foo()(*ARGS))


def test_only_named_methods_are_lowered():
    """EDGE-12"""
    program = export(Foo(), ARGS)
    manager = to_edge({"one": program, "two": program}).to_backend({"two": RunsPartitioner(MM_ADD)})
    assert not get_delegates(manager.exported_program("one").graph)
    assert len(get_delegates(manager.exported_program("two").graph)) == 2


def test_delegate_owns_tagged_weights():
    """DEL-15"""
    program = to_edge(export(torch.nn.Linear(4, 5), (torch.randn(2, 4),)))
    lowered = program.to_backend(AllNodePartitioner("NamesBackend", [])).exported_program()
    assert [s.kind.name for s in lowered.graph_signature.input_specs] == ["USER_INPUT"]
    assert lowered.state_dict == {}
    inner = lowered.graph_module.lowered_module_0.original_module
    assert set(inner.state_dict) == {"weight", "bias"}


def test_a_backend_reads_the_weights_of_its_placeholders():
    """EXP-15: weights are inputs of the graph, and PyTorch's functions find the parameter of each."""
    model = torch.nn.Conv2d(3, 4, 2)
    program = export(model, (torch.randn(1, 3, 5, 5),))
    assert [s.kind.name for s in program.graph_signature.input_specs] == ["PARAMETER", "PARAMETER", "USER_INPUT"]
    lowered = to_edge(program).to_backend(AllNodePartitioner("WeightsBackend", [])).exported_program()
    expected = b"".join(p.detach().numpy().tobytes() for p in (model.weight, model.bias))
    assert lowered.graph_module.lowered_module_0.processed_bytes == expected


def test_delegate_owns_its_state():
    """A buffer that only a delegate reads and writes leaves the method's signature."""

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count.add_(x)
            return self.count * 2

    edge = to_edge(export(Counter(), (torch.ones(2),)))
    lowered = edge.to_backend(AllNodePartitioner("NamesBackend", [])).exported_program()
    assert lowered.graph_signature.buffers_to_mutate == {}
    inner = lowered.graph_module.lowered_module_0.original_module.graph_signature
    assert list(inner.buffers_to_mutate.values()) == ["count"]


def test_undecomposed_operators_reach_the_partitioner_and_leftovers_are_decomposed():
    """EDGE-07, PTN-12"""
    linear = exir_ops.edge.aten.linear.default
    program = export(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), (torch.randn(1, 4),))
    keep = [torch.ops.aten.linear.default]
    taken = to_edge_transform_and_lower(program, partitioner=[RunsPartitioner([linear], keep=keep)]).exported_program()
    assert taken.graph_module.lowered_module_0.processed_bytes == b"aten_linear_default"
    left = to_edge_transform_and_lower(program, partitioner=[RunsPartitioner([], keep=keep)]).exported_program()
    names = [n.name for n in left.graph.nodes if n.op == "call_function"]
    assert names == ["aten_permute_copy_default", "aten_addmm_default", "aten_relu_default"]


def test_operators_that_others_become_reach_the_partitioner_whole():
    """The linear layers of a recurrent layer appear when it is decomposed. EDGE-07"""
    linear = exir_ops.edge.aten.linear.default
    program = export(torch.nn.LSTM(4, 5), (torch.randn(2, 1, 4),))
    partitioner = RunsPartitioner([linear], keep=[torch.ops.aten.linear.default])
    lowered = to_edge_transform_and_lower(program, partitioner=[partitioner]).exported_program()
    payloads = [module.processed_bytes for _, module, _ in get_lowered_submodules(lowered.graph_module)]
    assert sum(payload.count(b"aten_linear_default") for payload in payloads) == 3  # one for all inputs, two for states
    assert exir_ops.edge.aten.addmm.default not in [node.target for node in lowered.graph.nodes]


def test_first_partitioner_wins():
    """EDGE-08"""

    class OtherBackend(NamesBackend):
        pass

    parts = [RunsPartitioner([MM_ADD[0]], "OtherBackend"), RunsPartitioner(MM_ADD)]
    program = to_edge_transform_and_lower(export(Foo(), ARGS), partitioner=parts).exported_program()
    payloads = [
        (m.backend_id, m.processed_bytes)
        for name, m in program.graph_module.named_children()
        if name.startswith("lowered_module")
    ]
    assert sorted(payloads) == [
        ("NamesBackend", b"aten_add_tensor"),
        ("NamesBackend", b"aten_add_tensor_1"),
        ("OtherBackend", b"aten_mm_default"),
        ("OtherBackend", b"aten_mm_default_1"),
    ]
    torch.testing.assert_close(program.module()(*ARGS), Foo()(*ARGS))


def test_without_partitioner_it_is_to_edge():
    """EDGE-07"""
    program = export(Foo(), ARGS)
    assert str(to_edge_transform_and_lower(program).exported_program()) == str(to_edge(program).exported_program())


def test_whole_program_lowered_by_backend_id():
    """DEL-02, DEL-05"""
    edge = to_edge(export(Foo(), ARGS)).exported_program()
    lowered = to_backend("NamesBackend", edge, [CompileSpec("a", b"1")])
    assert (lowered.backend_id, lowered.compile_specs) == ("NamesBackend", [CompileSpec("a", b"1")])
    assert lowered.processed_bytes.startswith(b"aten_mm_default")
    torch.testing.assert_close(lowered(*ARGS), Foo()(*ARGS))


def test_lowered_module_inside_another():
    """DEL-09"""
    lowered = to_backend("NamesBackend", to_edge(export(Foo(), ARGS)).exported_program(), [])

    class Composed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lowerable = lowered

        def forward(self, *args):
            return self.lowerable(*args) + self.lowerable(*args)

    program = to_edge(export(Composed(), ARGS)).exported_program()
    assert sum(n.target is executorch_call_delegate for n in program.graph.nodes) == 2


def test_unknown_backend_and_first_argument():
    """DEL-03"""
    edge = to_edge(export(Foo(), ARGS)).exported_program()
    with pytest.raises(NotImplementedError, match=r"Backend Nope was not found.*NamesBackend"):
        to_backend("Nope", edge, [])
    with pytest.raises(TypeError, match="got int"):
        to_backend(3)


def test_partitioner_must_not_change_the_graph():
    """DEL-13"""

    class Changes(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target is exir_ops.edge.aten.sub.Tensor:
                    node.target = exir_ops.edge.aten.mul.Tensor
            return PartitionResult(exported_program, {})

    edge = to_edge(export(Foo(), ARGS))
    with pytest.raises(ValueError, match="changed the graph"):
        edge.to_backend(Changes())
    with validation_disabled():
        edge.to_backend(Changes())


def test_tag_without_specification():
    """EDGE-13"""

    class Untold(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.op == "call_function":
                    node.meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {})

    with pytest.raises(ValueError, match="has the delegation tag 't'"):
        to_edge(export(Foo(), ARGS)).to_backend(Untold())


def test_partition_that_needs_its_own_result():
    class Cyclic(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target in MM_ADD:
                    node.meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {"t": DelegationSpec("NamesBackend", [])})

    with pytest.raises(ValueError, match="depends on its own result"):
        to_edge(export(Foo(), ARGS)).to_backend(Cyclic())


def test_mapping_builder():
    """DEL-21"""
    builder = DelegateMappingBuilder(generated_identifiers=True)
    assert builder.insert_delegate_mapping_entry(handles=[3, 1, None]) == 0
    assert builder.insert_delegate_mapping_entry(handles=2) == 1
    assert builder.get_delegate_mapping() == {0: (1, 3), 1: (2,)}
    with pytest.raises(ValueError, match="not a mixture"):
        builder.insert_delegate_mapping_entry(handles=1, identifier="x")
