# SPDX-License-Identifier: BSD-3-Clause
"""Models that are hard to delegate, lowered completely and in parts to a backend that is the runtime itself."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from demo_delegates import check, needs_demo_backends, run, state_of
from torch.export import export

from sdk.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir.backend.backend_details import PreprocessResult
from sdk.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from sdk.exir.backend.partitioner import DelegationSpec, Partitioner
from sdk.exir.backend.test._tagging import partition_by_support
from sdk.exir.backend.test.demos.rpc.executor_backend_partitioner import ExecutorBackendPartitioner
from sdk.exir.backend.test.demos.rpc.executor_backend_preprocess import ExecutorBackend
from sdk.exir.backend.test.op_partitioner_demo import AddOperatorSupport, AllNodesPartitionerDemo, AllOperatorSupport
from sdk.exir.backend.utils import get_non_lowered_nodes
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.lowered_backend_module import get_lowered_backend_modules

pytestmark = needs_demo_backends()
edge_ops = exir_ops.edge.aten


class ConvolutionsOnly(Partitioner):
    """Delegates convolution, batch norm and pooling with their weights; other operators stay outside."""

    OPS = (
        edge_ops.convolution.default,
        edge_ops._native_batch_norm_legit_no_training.default,
        edge_ops.max_pool2d_with_indices.default,
    )

    def partition(self, exported_program):
        class Support(AllOperatorSupport):
            def is_node_supported(self, submodules, node):
                return node.target in ConvolutionsOnly.OPS

        return partition_by_support(exported_program, Support(), DelegationSpec("ExecutorBackend", []), True)


PARTITIONERS = {
    "all": lambda: AllNodePartitioner("ExecutorBackend", []),
    "borrowed": ExecutorBackendPartitioner,
    "owned": AllNodesPartitionerDemo,
    "some": ConvolutionsOnly,
}


class FoldedConv(torch.nn.Module):
    def __init__(self, weight, bias, geometry):
        super().__init__()
        self.weight, self.bias, self.geometry = torch.nn.Parameter(weight), torch.nn.Parameter(bias), geometry

    def forward(self, x):
        stride, padding, dilation = self.geometry
        return F.conv2d(x, self.weight, self.bias, stride, padding, dilation)


def preprocess_with_fusion(edge_program, compile_specs):
    """Does what a fusing backend does: finds the parameters of both modules and compiles one convolution."""
    names = edge_program.graph_signature.inputs_to_parameters | edge_program.graph_signature.inputs_to_buffers

    def value(node):
        return edge_program.state_dict[names[node.name]].double()

    nodes = [n for n in edge_program.graph.nodes if n.op == "call_function" and "getitem" not in n.name]
    conv, norm = nodes
    weight, bias = value(conv.args[1]), value(conv.args[2])
    gamma, beta, mean, variance = map(value, norm.args[1:5])
    scale = gamma / torch.sqrt(variance + norm.args[6])
    folded = FoldedConv(
        (weight * scale.reshape(-1, 1, 1, 1)).float(), ((bias - mean) * scale + beta).float(), conv.args[3:6]
    )
    program = to_edge(export(folded.eval(), (torch.randn(conv.args[0].meta["val"].shape),))).to_executorch()
    operators = [op.name for op in program.executorch_program.execution_plan[0].operators]
    assert operators == ["aten::convolution"]
    return PreprocessResult(program.buffer)


def conv_and_norm() -> torch.nn.Sequential:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4))
    with torch.no_grad():
        for tensor in (model[1].weight, model[1].bias, model[1].running_mean):
            tensor.copy_(torch.randn(4))
        model[1].running_var.copy_(torch.rand(4) + 0.5)
    return model.eval()


def test_conv_and_batch_norm_for_a_fusing_backend(monkeypatch):
    """DEL-15: at top level the parameters are called `0.weight`; a backend finds them and fuses the modules."""
    monkeypatch.setattr(ExecutorBackend, "preprocess", staticmethod(preprocess_with_fusion))
    image = torch.randn(1, 3, 8, 8)
    edge = check(conv_and_norm(), [[image]], AllNodePartitioner("ExecutorBackend", []))
    assert state_of(edge.exported_program()) == ["1.num_batches_tracked"]
    (module,) = get_lowered_backend_modules(edge.exported_program().graph_module)
    assert {"0.weight", "0.bias", "1.weight", "1.bias"} <= set(state_of(module.original_module))


@pytest.mark.parametrize("which", PARTITIONERS)
def test_conv_and_batch_norm(which):
    """DEL-12, DEL-15"""
    check(conv_and_norm(), [[torch.randn(1, 3, 8, 8)]], PARTITIONERS[which]())


@pytest.mark.parametrize("which", PARTITIONERS)
def test_channels_last_weights(which):
    """DEL-15: the backend and the kernels read weights correctly whose memory order differs from that of their
    dimensions."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 3))
    model = model.to(memory_format=torch.channels_last).eval()
    images = [torch.randn(1, 3, 8, 8), torch.randn(1, 3, 8, 8)]
    check(model, [[image] for image in images], PARTITIONERS[which]())


def test_channels_last_input():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last).eval()
    image = torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last)
    check(model, [[image]], AllNodePartitioner("ExecutorBackend", []))


@pytest.mark.parametrize("which", PARTITIONERS)
def test_max_pool_without_stride(which):
    """DEL-23: the stride defaults to the size of the window."""

    class Pool(torch.nn.Module):
        def forward(self, x):
            return F.max_pool2d(x, 2) + 1

    edge = check(Pool(), [[torch.randn(1, 3, 8, 6)]], PARTITIONERS[which]())
    left = {n.target for n in get_non_lowered_nodes(edge.exported_program().graph)}
    assert (edge_ops.add.Tensor in left) == (which == "some")


class KeyCache(torch.nn.Module):
    """Projects a token with parameters that require grad, writes it to a cache, and reads the whole cache."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(4, 4)
        self.register_buffer("cache", torch.full((1, 6, 4), 0.5))

    def forward(self, token, position):
        self.cache[:, position] = self.project(token)
        return self.cache.sum(1) + token


@pytest.mark.parametrize("which", PARTITIONERS)
def test_a_cache_written_from_trained_parameters(which):
    """DEL-15: state keeps its initial value and the values that calls have written, whether the delegate owns it or
    not."""
    model = KeyCache()
    assert all(p.requires_grad for p in model.parameters())
    calls = [[torch.randn(1, 4), torch.tensor([i])] for i in (0, 3, 1, 3)]
    program = export(model, tuple(calls[0]))
    edge = to_edge_transform_and_lower(program, partitioner=[PARTITIONERS[which]()])
    fresh = copy.deepcopy(model)
    with torch.no_grad():
        expected = [[fresh(*call)] for call in calls]
    torch.testing.assert_close(run(edge.to_executorch().buffer, calls), expected)
    owned = which in ("all", "owned")
    assert ("cache" in state_of(edge.exported_program())) != owned


def test_an_input_that_is_written_to():
    """DEL-02: with a partitioner, the write stays outside. A module that is lowered whole cannot write, which is an
    error."""

    class Writes(torch.nn.Module):
        def forward(self, x, y):
            x.add_(y)
            return x * 2

    args = (torch.ones(2), torch.tensor([1.0, 2.0]))
    edge = to_edge(export(Writes(), args))
    from sdk.exir.backend.backend_api import to_backend

    with pytest.raises(ValueError, match=r"the program writes to its input x, .* Return the new value instead"):
        to_backend("ExecutorBackend", edge.exported_program(), [])
    lowered = edge.to_backend(AllNodePartitioner("ExecutorBackend", []))
    (output,) = run(lowered.to_executorch().buffer, [args])[0][-1:]
    torch.testing.assert_close(output, torch.tensor([4.0, 6.0]))


def test_two_methods():
    """DEL-14, EDGE-12: a dictionary names the methods; each keeps its own delegates."""

    class Both(torch.nn.Module):
        def forward(self, x):
            return torch.sin(x) + 1

    class One(torch.nn.Module):
        def forward(self, x):
            return torch.cos(x) * 2

    x = torch.randn(3)
    programs = {"sin": export(Both(), (x,)), "cos": export(One(), (x,))}
    partitioner = {"sin": [AllNodePartitioner("ExecutorBackend", [])]}
    edge: EdgeProgramManager = to_edge_transform_and_lower(programs, partitioner=partitioner)
    count = {m: len(get_lowered_backend_modules(edge.exported_program(m).graph_module)) for m in edge.methods}
    assert count == {"sin": 1, "cos": 0}
    buffer = edge.to_executorch().buffer
    torch.testing.assert_close(run(buffer, [[x]], "sin"), [[torch.sin(x) + 1]])
    torch.testing.assert_close(run(buffer, [[x]], "cos"), [[torch.cos(x) * 2]])


def test_a_result_that_is_an_input():
    """DEL-06: outputs that no operator computes bypass the delegate."""

    class Passes(torch.nn.Module):
        def forward(self, x, y):
            return y, x + y, x + y, x

    check(Passes(), [[torch.randn(2), torch.randn(2)]], AllNodePartitioner("ExecutorBackend", []))


def test_the_delegate_is_told_sizes_that_change():
    """DEL-06: delegates may have numbers as inputs and outputs, like tensors."""

    class Grows(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x]).reshape(x.shape[0] * 2) + x.shape[0]

    sizes = {"dynamic_shapes": ({0: torch.export.Dim("n", min=1, max=9)},)}
    calls = [[torch.randn(n)] for n in (4, 9, 1)]
    check(Grows(), calls, ExecutorBackendPartitioner(), **sizes)

    class Add(Partitioner):
        def partition(self, exported_program):
            return partition_by_support(
                exported_program, AddOperatorSupport(), DelegationSpec("ExecutorBackend", []), True
            )

    check(Grows(), calls, Add(), **sizes)
