# SPDX-License-Identifier: BSD-3-Clause
"""Errors in partitioners and backends, refusals and their reasons, and the delegates' mappings of debug handles."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from sdk.exir import to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from sdk.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.backend.utils import DelegateMappingBuilder, get_refusals
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.lowered_backend_module import get_lowered_backend_modules
from zoo.function import Function

ops = exir_ops.edge.aten


def edge_of(function, *args):
    model = function if isinstance(function, torch.nn.Module) else Function(function)
    return to_edge(export(model, tuple(a.clone() for a in args))).exported_program()


def named(graph):
    return {n.name: n for n in graph.nodes}


X = torch.ones(2)


class Refuses(BackendDetails):
    """Compiles nothing."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        raise RuntimeError("the device is not connected")


class Names(BackendDetails):
    @staticmethod
    def preprocess(edge_program, compile_specs):
        return PreprocessResult(",".join(n.name for n in edge_program.graph.nodes if n.op == "call_function").encode())


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) + torch.cos(x)


def full_text(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def test_a_backend_that_fails():
    """DEL-14: the error names the backend, the partition, the method, and the line of the model."""
    with pytest.raises(RuntimeError, match="the device is not connected") as caught:
        to_edge_transform_and_lower({"encode": export(Model(), (X,))}, partitioner=[AllNodePartitioner("Refuses", [])])
    text = full_text(caught.value)
    assert "while Refuses.preprocess compiled partition 0 of method 'encode', 3 nodes from aten_sin_default on" in text
    assert 'test_backend_errors.py", line ' in text and "return torch.sin(x) + torch.cos(x)" in text


def test_what_a_demo_backend_refuses():
    """DEL-08: the error of a backend names the node's line."""
    with pytest.raises(
        RuntimeError, match=r"aten.cos.default is not supported in backend BackendWithCompilerDemo"
    ) as e:
        to_backend("BackendWithCompilerDemo", edge_of(Model(), X), [])
    assert "aten_cos_default comes from: File " in str(e.value)


def test_a_partition_around_another_node():
    """DEL-12: the message names the tag, the backend, the nodes between, and the line."""

    class Around(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target in (ops.sin.default, ops.add.Tensor):
                    node.meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {"t": DelegationSpec("Names", [])})

    with pytest.raises(ValueError, match="depends on its own result") as caught:
        to_backend(edge_of(lambda x: torch.cos(torch.sin(x)) + torch.sin(x), X), Around())
    text = full_text(caught.value)
    assert "The partition 't' of" in text and "for Names depends on its own result, through aten_cos_default" in text
    assert "aten_cos_default comes from: File" in text and "The partitioner was Around" not in text


def test_a_tag_that_means_nothing():
    """DEL-13"""

    class Untold(Partitioner):
        def partition(self, exported_program):
            next(n for n in exported_program.graph.nodes if n.op == "call_function").meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {"u": DelegationSpec("Names", [])})

    with pytest.raises(ValueError, match=r"node aten_sin_default has the delegation tag 't'.*it gave u") as caught:
        to_backend(edge_of(Model(), X), Untold())
    assert "aten_sin_default comes from: File" in str(caught.value)
    assert "The partitioner was Untold." in full_text(caught.value)


class TagsOf(Partitioner):
    """A partitioner that tags nodes of one kind, in the graph or in its branches."""

    def __init__(self, op, in_branches=False):
        self.op, self.in_branches = op, in_branches

    def partition(self, exported_program):
        graphs = [m for m in exported_program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
        for graph_module in graphs[1:] if self.in_branches else graphs[:1]:
            for node in graph_module.graph.find_nodes(op=self.op):
                node.meta["delegation_tag"] = "t"
        return PartitionResult(exported_program, {"t": DelegationSpec("Names", [])})


def branches(x):
    return torch.cond(x.sum() > 0, torch.sin, torch.cos, [x])


@pytest.mark.parametrize("in_branches", [False, True], ids=["program", "branches"])
def test_tags_of_inputs_and_outputs(in_branches):
    """DEL-13: a tag on a node that no delegate can own is an error of the original's type, which names the node and the
    partitioner."""
    constants = "for non-params, non-buffer, and non-tensor constants"
    for op, said in (("output", r"node \w+"), ("placeholder", f"node {constants}")):
        with pytest.raises(RuntimeError, match=f"{op} {said} should not be tagged") as caught:
            to_backend(edge_of(branches, X), TagsOf(op, in_branches))
        assert "The partitioner was TagsOf." in full_text(caught.value)


def test_tags_of_weights_are_not_errors():
    """DEL-15: parameters, buffers that the program reads or changes, and constants, even if no delegate reads them."""

    class State(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(2))
            self.register_buffer("offset", torch.ones(2))
            self.scale = torch.nn.Parameter(torch.ones(2))

        def forward(self):
            self.count.add_(1)
            return self.count * self.scale + self.offset + torch.tensor([2.0, 3.0])

    edge = to_edge(export(State(), ())).exported_program()
    kinds = {spec.kind.name for spec in edge.graph_signature.input_specs}
    assert kinds == {"PARAMETER", "BUFFER", "CONSTANT_TENSOR"}
    lowered = to_backend(edge, TagsOf("placeholder"))
    torch.testing.assert_close(lowered.module()(), torch.tensor([4.0, 5.0]))


def test_errors_of_partitioners_have_the_originals_types():
    """DEL-13: a constant that two partitions own is a RuntimeError; a partitioner that changes the graph is an
    AssertionError."""

    class Splits(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if (node.op == "placeholder" and node.name.startswith("c_")) or node.target is ops.sin.default:
                    node.meta["delegation_tag"] = "t"
            return PartitionResult(exported_program, {"t": DelegationSpec("Names", [])})

    class Changes(Partitioner):
        def partition(self, exported_program):
            next(n for n in exported_program.graph.nodes if n.target is ops.sin.default).target = ops.cos.default
            return PartitionResult(exported_program, {})

    constant = torch.ones(2)
    with pytest.raises(RuntimeError, match="aten_cos_default outside of the partition uses it too"):
        to_backend(edge_of(lambda x: x + torch.sin(constant) + torch.cos(constant), X), Splits())
    with pytest.raises(AssertionError, match="Partitioner Changes changed the graph of method 'forward'"):
        to_backend(edge_of(Model(), X), Changes())


def test_wrong_results():
    """DEL-13, DEL-14"""

    class Nothing(Partitioner):
        def partition(self, exported_program):
            return None

    class Text(BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return b"bytes"

    with pytest.raises(TypeError, match=r"Nothing\.partition must return a PartitionResult, got NoneType"):
        to_backend(edge_of(Model(), X), Nothing())
    with pytest.raises(TypeError, match="to_backend takes one Partitioner a method, got list"):
        to_backend(edge_of(Model(), X), [Nothing()])
    with pytest.raises(TypeError, match=r"Text\.preprocess must return a PreprocessResult, got bytes"):
        to_backend("Text", edge_of(Model(), X), [])


def test_a_dictionary_of_methods():
    """DEL-03, EDGE-12: the third form of to_backend. Methods without a partitioner do not change."""
    programs = {"one": edge_of(Model(), X), "two": edge_of(Model(), X)}
    lowered = to_backend(MethodProgramsPartitionerSpec(programs, {"two": AllNodePartitioner("Names", [])}))
    assert lowered["one"] is programs["one"]
    (module,) = get_lowered_backend_modules(lowered["two"].graph_module)
    assert module.processed_bytes == b"aten_sin_default,aten_cos_default,aten_add_tensor"


def test_partitioners_of_each_method():
    """EDGE-08, EDGE-12: lists by method, of different lengths, tried in order."""
    program = export(Function(lambda x, y: torch.sin(x + y) * y), (X, X.clone()))
    edge = to_edge_transform_and_lower(
        {"one": program, "two": program},
        partitioner={
            "one": [AddMulPartitionerDemo(), BackendWithPreprocessAllPartitioner()],
            "two": [AllNodePartitioner("Names", [])],
        },
    )
    ids = {
        m: sorted(x.backend_id for x in get_lowered_backend_modules(edge.exported_program(m).graph_module))
        for m in ("one", "two")
    }
    demo = "BackendWithCompilerDemo"
    assert ids == {"one": [demo, demo, "FirstBackendWithPreprocessAll"], "two": ["Names"]}
    with pytest.raises(KeyError, match="there is no method 'three'; the methods are one"):
        to_edge_transform_and_lower({"one": program}, partitioner={"three": [AddMulPartitionerDemo()]})


def test_reasons_of_refusals():
    """A partitioner gives its reason for leaving a node as text."""
    edge = to_edge(export(Function(lambda x, y: torch.sin(x + y)), (X, X.clone()))).to_backend(AddMulPartitionerDemo())
    node = next(n for n in edge.exported_program().graph.nodes if n.target is ops.sin.default)
    assert get_refusals(node) == {
        "BackendWithCompilerDemo": "it takes add, mul and mm in one dtype: float32, float64, int32 or int64"
    }


def test_mapping_builder():
    """DBG-03, DBG-04, DBG-05, DBG-06, DBG-07, DBG-08"""
    nodes = [n for n in edge_of(Model(), X).graph.nodes if n.op == "call_function"]
    handles = [n.meta["debug_handle"] for n in nodes]
    generated = DelegateMappingBuilder(generated_identifiers=True)
    assert [generated.insert_delegate_mapping_entry(nodes=n) for n in nodes] == [0, 1, 2]
    assert generated.get_delegate_mapping() == {i: (h,) for i, h in enumerate(handles)}
    manual = DelegateMappingBuilder()
    assert manual.insert_delegate_mapping_entry(nodes=nodes, identifier="fused") == "fused"
    result = PreprocessResult(debug_handle_map=manual.get_delegate_mapping())
    assert (result.processed_bytes, result.debug_handle_map) == (b"", {"fused": tuple(sorted(handles))})
    with pytest.raises(ValueError, match="pass identifiers, or construct the builder with generated_identifiers=True"):
        manual.insert_delegate_mapping_entry(handles=1)
    for wrong in ({}, {"nodes": nodes, "handles": 1}):
        with pytest.raises(ValueError, match="pass either nodes or handles"):
            generated.insert_delegate_mapping_entry(**wrong)


def test_the_map_of_a_program():
    """DEL-21, DEL-22: a call_delegate instruction leads to the delegate's own map, and that to the nodes."""
    edge = to_edge(export(Function(lambda a, b, c: torch.mm(a, b) + c), tuple(torch.ones(2, 2) for _ in range(3))))
    handles = [n.meta["debug_handle"] for n in edge.exported_program().graph.nodes if n.op == "call_function"]
    manager = edge.to_backend(AddMulPartitionerDemo()).to_executorch()
    expected = {"name": "BackendWithCompilerDemo", "delegate_map": {h: (h,) for h in handles}}
    assert manager.delegate_map == {"forward": {0: expected}}
    assert manager.debug_handle_map == {"forward": {0: handles}}
