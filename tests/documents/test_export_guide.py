# SPDX-License-Identifier: BSD-3-Clause
"""The pages on exporting and lowering, on the intermediate representation, on core operators and on memory planning:
their snippets, completed. If a page uses a vendor's partitioner, a demo partitioner replaces it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim, ExportedProgram, export
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from sdk import exir
from sdk.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from sdk.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.memory_planning import greedy
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes import MemoryPlanningPass
from sdk.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from sdk.extension.pybindings.portable_lib import _load_for_executorch, _load_for_executorch_from_buffer
from sdk.runtime import Runtime

edge = exir_ops.edge.aten


class Model(torch.nn.Module):
    """The page's network."""

    def __init__(self) -> None:
        super().__init__()
        self.seq = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 16, 3),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d((1, 1)),
        )
        self.linear = torch.nn.Linear(16, 10)

    def forward(self, x):
        y = self.seq(x)
        y = torch.flatten(y, 1)
        return self.linear(y)


def targets(program: ExportedProgram):
    return [n.target for n in program.graph.nodes if n.op == "call_function"]


def run(manager, *inputs, method="forward"):
    return _load_for_executorch_from_buffer(manager.buffer).run_method(method, inputs)


def test_the_five_steps(tmp_path):
    """EXP2-01, EXP2-02, EXP2-16: prepare, export, lower, save, test."""
    model = Model().eval()
    inputs = (torch.randn(1, 1, 16, 16),)
    exported_program = export(model, inputs)
    executorch_program = to_edge_transform_and_lower(exported_program, partitioner=[AddMulPartitionerDemo()])
    executorch_program = to_edge_transform_and_lower(exported_program).to_executorch()
    with (tmp_path / "model.pte").open("wb") as file:
        file.write(executorch_program.buffer)
    runtime = Runtime.get()
    program = runtime.load_program(tmp_path / "model.pte")
    method = program.load_method("forward")
    output = method.execute(list(inputs))
    torch.testing.assert_close(output[0], model(*inputs).detach(), rtol=1e-4, atol=1e-5)


def test_dynamic_shapes():
    """EXP2-03, EXP2-04: the program accepts any size within the bounds; memory is planned for the upper one."""
    model = Model().eval()
    inputs = (torch.randn(1, 1, 32, 32),)

    def lower(largest):
        shapes = {"x": {2: Dim("h", min=16, max=largest), 3: Dim("w", min=16, max=largest)}}
        return to_edge_transform_and_lower(export(model, inputs, dynamic_shapes=shapes)).to_executorch()

    small, large = lower(64), lower(256)
    for height, width in ((16, 16), (16, 256), (256, 100)):
        x = torch.randn(1, 1, height, width)
        torch.testing.assert_close(run(large, x)[0], model(x).detach(), rtol=1e-4, atol=1e-4)
    sizes = [sum(m.executorch_program.execution_plan[0].non_const_buffer_sizes) for m in (small, large)]
    assert sizes[1] > 10 * sizes[0]


def test_partitioners_in_order():
    """EXP2-05: each partitioner gets what the previous ones have left; add, which both support, goes to the first."""

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.sin(torch.mm(x, x) + x).exp()

    x = torch.randn(2, 2)
    add_mul, add_sin = AddMulPartitionerDemo(), BackendWithPreprocessAllPartitioner()
    compiler, first = "BackendWithCompilerDemo", "FirstBackendWithPreprocessAll"
    for partitioners, expected in (
        ([add_mul, add_sin], {compiler: [edge.mm.default, edge.add.Tensor], first: [edge.sin.default]}),
        ([add_sin, add_mul], {first: [edge.add.Tensor, edge.sin.default], compiler: [edge.mm.default]}),
    ):
        lowered = to_edge_transform_and_lower(export(Net(), (x,)), partitioner=partitioners).exported_program()
        modules = [module for _, module in lowered.graph_module.named_children()]
        assert {module.backend_id: targets(module.original_module) for module in modules} == expected
        torch.testing.assert_close(lowered.module()(x), Net()(x))


def test_program_and_data_apart(tmp_path):
    """EXP2-06 to EXP2-08: weights in a file that several programs may share."""
    model = torch.nn.Linear(2, 3)
    inputs = (torch.randn(1, 2),)
    exported_program = export(model, inputs)
    tagged_module = exported_program.module()
    delegate_external_constants_pass_unlifted(module=tagged_module, gen_tag_fn=lambda x: "model")
    exported_program = export(tagged_module, inputs, strict=True)
    config = ExecutorchBackendConfig(external_constants=lambda node: "model")
    executorch_program = to_edge_transform_and_lower(exported_program).to_executorch(config=config)
    executorch_program.write_tensor_data_to_file(str(tmp_path))
    executorch_program.save(str(tmp_path / "model.pte"))
    assert (tmp_path / "model.ptd").exists()
    module = _load_for_executorch(str(tmp_path / "model.pte"), str(tmp_path / "model.ptd"))
    torch.testing.assert_close(module.forward(inputs)[0], model(*inputs).detach())


class Autoencoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)

    def encode(self, x):
        return self.down(x)

    def decode(self, x):
        return self.up(x)


class EncodeWrapper(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args, **kwargs):
        return self.model.encode(*args, **kwargs)


class DecodeWrapper(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args, **kwargs):
        return self.model.decode(*args, **kwargs)


def test_several_methods():
    """EXP2-09 to EXP2-11: wrappers export other methods; each has a separate memory plan."""
    model, x = Autoencoder(), torch.randn(1, 4)
    encode_ep = export(EncodeWrapper(model), (x,))
    decode_ep = export(DecodeWrapper(model), (model.encode(x).detach(),))
    lowered = to_edge_transform_and_lower({"encode": encode_ep, "decode": decode_ep}).to_executorch()
    (code,) = run(lowered, x, method="encode")
    torch.testing.assert_close(code, model.encode(x).detach())
    torch.testing.assert_close(run(lowered, code, method="decode")[0], model.decode(code).detach())
    plans = {p.name: p.non_const_buffer_sizes for p in lowered.executorch_program.execution_plan}
    assert set(plans) == {"encode", "decode"} and all(sum(sizes) > 0 for sizes in plans.values())


def test_state():
    """EXP2-12, EXP2-13: state is in a buffer that the program keeps, or is an input and an output."""

    class Buffered(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x):
            self.total.copy_(self.total + x)
            return self.total * 1

    class Carried(torch.nn.Module):
        def forward(self, x, total):
            return total + x

    x = torch.ones(2)
    buffered = _load_for_executorch_from_buffer(
        to_edge_transform_and_lower(export(Buffered(), (x,))).to_executorch().buffer
    )
    carried = _load_for_executorch_from_buffer(
        to_edge_transform_and_lower(export(Carried(), (x, torch.zeros(2)))).to_executorch().buffer
    )
    total = torch.zeros(2)
    for step in (1.0, 2.0, 3.0):
        total = carried.forward((x, total))[0].clone()
        assert total.tolist() == buffered.forward((x,))[0].tolist() == [step, step]


def test_branches():
    """EXP2-14"""

    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))

    manager = to_edge_transform_and_lower(export(Branch(), (torch.ones(2),))).to_executorch()
    for x in (torch.ones(2), -torch.ones(2)):
        torch.testing.assert_close(run(manager, x)[0], Branch()(x))


def test_what_no_backend_takes_runs_on_kernels():
    """EXP2-15: the operators outside the delegates become kernel calls."""

    class Mixed(torch.nn.Module):
        def forward(self, x, y):
            return torch.sin(x + y)

    x = torch.ones(2)
    manager = to_edge_transform_and_lower(export(Mixed(), (x, x)), partitioner=[AddMulPartitionerDemo()])
    plan = manager.to_executorch().executorch_program.execution_plan[0]
    assert [o.name for o in plan.operators] == ["aten::sin"] and len(plan.delegates) == 1


def test_models_in_evaluation_mode():
    """EXP2-16: dropout and batch normalisation behave as in evaluation."""
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Dropout(0.5)).eval()
    x = torch.randn(1, 1, 5, 5)
    manager = to_edge_transform_and_lower(export(model, (x,))).to_executorch()
    torch.testing.assert_close(run(manager, x)[0], model(x).detach(), rtol=1e-4, atol=1e-5)


# --- the intermediate representation


def test_holding_edge_dialect(capsys):
    """IR-09, IR-10: the page's sample; passes run in the order given, and the result is checked."""

    class MyModule(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    class To(ExportPass):
        def __init__(self, old, new):
            super().__init__()
            self.old, self.new = old, new

        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(self.new if op == self.old else op, args, kwargs, meta)

    a = MyModule()
    tracing_inputs = (torch.rand(2, 2),)
    aten_dialect_program = torch.export.export(a, tracing_inputs)
    edge_dialect_program: exir.EdgeProgramManager = exir.to_edge(aten_dialect_program)
    print(edge_dialect_program.exported_program)
    assert "EdgeProgramManager.exported_program" in capsys.readouterr().out
    relu_sin, sin_cos = To(edge.relu.default, edge.sin.default), To(edge.sin.default, edge.cos.default)
    for passes, result in (([relu_sin, sin_cos], edge.cos.default), ([sin_cos, relu_sin], edge.sin.default)):
        assert targets(edge_dialect_program.transform(passes).exported_program()) == [result]
    with pytest.raises(Exception, match="is not an edge operator"):
        edge_dialect_program.transform(To(edge.relu.default, torch.ops.aten.sin.default))
    two = exir.to_edge({"a": aten_dialect_program, "b": aten_dialect_program})
    assert {m for m in two.methods if isinstance(two.exported_program(m), ExportedProgram)} == {"a", "b"}


def test_strides_of_inputs():
    """IR-02: a program exported with a contiguous input also takes a transposed one. Results are contiguous."""
    x = torch.arange(6.0).reshape(2, 3).t()
    program = exir.to_edge(export(torch.nn.ReLU(), (x.contiguous(),))).exported_program()
    assert all(n.meta["val"].is_contiguous() for n in program.graph.nodes if n.op == "call_function")
    torch.testing.assert_close(program.module()(x), torch.relu(x))


# --- core operators


def test_exported_operators_are_functional():
    """OPS-01: after decomposition, operators neither write to arguments nor return aliases."""

    class InPlace(torch.nn.Module):
        def forward(self, x):
            y = x.clone()
            y.add_(1).relu_()
            return y.view(-1)

    program = exir.to_edge(export(InPlace(), (torch.ones(2, 2),))).exported_program()
    for target in targets(program):
        assert not target._schema.is_mutable
        assert not any(r.alias_info for r in target._schema.returns)
    torch.testing.assert_close(program.module()(torch.ones(2, 2)), torch.full((4,), 2.0))


def test_hardsigmoid_is_decomposed():
    """OPS-02: clamp(clamp(x + 3, min=0), max=6) / 6"""
    program = exir.to_edge(export(torch.nn.Hardsigmoid(), (torch.ones(2),))).exported_program()
    assert targets(program) == [edge.add.Tensor, edge.clamp.default, edge.clamp.default, edge.div.Tensor]
    x = torch.tensor([-4.0, -1.0, 0.5, 5.0])
    torch.testing.assert_close(program.module()(x[:2]), F.hardsigmoid(x[:2]))


def test_core_operators_are_not_decomposed():
    """OPS-03"""
    conv = exir.to_edge(export(torch.nn.Conv2d(1, 1, 3), (torch.ones(1, 1, 4, 4),))).exported_program()
    assert targets(conv) == [edge.convolution.default]
    norm = exir.to_edge(export(torch.nn.LayerNorm(4), (torch.ones(1, 4),))).exported_program()
    assert edge.native_layer_norm.default in targets(norm)


# --- memory planning


class CustomPoolMemoryPlanningPass(MemoryPlanningPass):
    """The page's example, with its indentation back."""

    def run(self, graph_module: GraphModule, graph_signature: ExportGraphSignature | None = None) -> PassResult:
        for subgm in graph_module.modules():
            if not isinstance(subgm, GraphModule):
                continue
            for node in subgm.graph.nodes:
                if node.op == "placeholder":
                    node.meta["spec"].mem_id = 1
                    continue
                if node.op != "call_function":
                    continue
                if node.target == torch.ops.aten.add.out:
                    node.meta["spec"].mem_id = 2
                elif node.target == torch.ops.aten.mul.out:
                    node.meta["spec"].mem_id = 1
        return super().run(graph_module, graph_signature)


class MulAdd(torch.nn.Module):
    def forward(self, x, y):
        return (x * y + x) * 2 + y


def test_inputs_and_outputs_without_memory():
    """MEM-08: the page's first sample."""
    x = torch.ones(4)
    edge_program = exir.to_edge(export(MulAdd(), (x, x)))
    program = edge_program.to_executorch(
        exir.ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(
                alloc_graph_input=False,  # Inputs will not be memory planned
                alloc_graph_output=True,  # Outputs will be memory planned
            )
        )
    )
    plan = program.executorch_program.execution_plan[0]
    assert [plan.values[i].val.allocation_info for i in plan.inputs] == [None, None]
    assert plan.values[plan.outputs[0]].val.allocation_info is not None
    torch.testing.assert_close(run(program, x, x)[0], MulAdd()(x, x))


def test_pools_of_ones_own():
    """MEM-10: the pass chooses the memory of each operator's results."""
    x = torch.ones(4)
    program = exir.to_edge(export(MulAdd(), (x, x))).to_executorch(
        exir.ExecutorchBackendConfig(memory_planning_pass=CustomPoolMemoryPlanningPass(memory_planning_algo=greedy))
    )
    pools = {}
    for node in program.exported_program().graph.nodes:
        if node.target in (torch.ops.aten.add.out, torch.ops.aten.mul.out):
            pools.setdefault(node.target._schema.name, set()).add(node.meta["spec"].mem_id)
    assert pools == {"aten::mul": {1}, "aten::add": {2}}
    torch.testing.assert_close(run(program, x, x)[0], MulAdd()(x, x))
