# SPDX-License-Identifier: BSD-3-Clause
"""The error of a failing pass: which pass, at which node, from which line of the model, what was expected, what to
do."""

from __future__ import annotations

import copy
import re

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export
from torch.fx import GraphModule

from sdk.exir import ExecutorchBackendConfig, to_edge
from sdk.exir._messages import full_message
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.error import ExportError
from sdk.exir.pass_base import ExportedProgramPassBase, ExportPass, PassBase, PassResult
from sdk.exir.pass_manager import ExportedProgramPassManager, PassManager
from sdk.exir.passes import MemoryPlanningPass, ScalarToTensorPass
from sdk.exir.passes.normalize_view_copy_base_pass import NormalizeViewCopyBasePass

edge = exir_ops.edge.aten
LINE = r'comes from: File ".*test_pass_errors\.py", line \d+, in forward: return torch\.relu\(y \+ x\)'


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        return torch.relu(y + x)


@pytest.fixture(scope="module")
def manager():
    return to_edge(export(Model(), (torch.ones(2, 2),)))


class Misspelt(ExportPass):
    """Fails in its own code."""

    def call_operator(self, op, args, kwargs, meta):
        if op is edge.relu.default:
            raise KeyError("slope")
        return super().call_operator(op, args, kwargs, meta)


class WrongShape(ExportPass):
    """Calls an operator with arguments that it does not take."""

    def call_operator(self, op, args, kwargs, meta):
        if op is edge.relu.default:
            flat = super().call_operator(edge.view_copy.default, (args[0], [4]), {}, meta)
            return super().call_operator(edge.mm.default, (args[0], flat), {}, meta)
        return super().call_operator(op, args, kwargs, meta)


class NoAdds(PassBase):
    """Looks at nodes one by one."""

    def call(self, graph_module):
        for node in graph_module.graph.nodes:
            if node.target is edge.add.Tensor:
                raise ValueError("this backend has no add")
        return PassResult(graph_module, False)


class ToAten(ExportPass):
    """Emits an operator that edge dialect does not have."""

    def call_operator(self, op, args, kwargs, meta):
        target = torch.ops.aten.relu.default if op is edge.relu.default else op
        return super().call_operator(target, args, kwargs, meta)


def text_of(call, kind):
    with pytest.raises(kind) as error:
        call()
    return full_message(error.value)


def test_an_export_pass_that_fails(manager):
    text = text_of(lambda: manager.transform([Misspelt()]), KeyError)
    assert text.startswith("'slope'\nThis happened in the pass Misspelt, at the node\n")
    assert "aten_relu_default = aten.relu.default(aten_add_tensor) -> float32[2, 2]" in text
    assert re.search(LINE, text)
    assert "put sdk.exir.passes.DebugPass() in front of it" in text
    assert text.endswith("in method 'forward'")
    assert "tlparse" not in text


def test_the_position_among_passes(manager):
    text = text_of(lambda: manager.transform([ScalarToTensorPass(), Misspelt(), NoAdds()]), KeyError)
    assert "It was pass number 2 of 3: ScalarToTensorPass, Misspelt, NoAdds." in text


def test_a_call_that_an_operator_refuses(manager):
    text = text_of(lambda: manager.transform([WrongShape()]), RuntimeError)
    assert text.startswith("b must be 2D\nThe pass called aten.mm.default(float32[2, 2], float32[4]).\n")
    assert "in the pass WrongShape" in text and re.search(LINE, text)


@pytest.mark.parametrize("where", ["transform", "configuration", "manager", "program manager"])
def test_a_pass_over_nodes_that_fails(manager, where):
    """Wherever the pass runs, the error names the node that the pass was looking at."""
    program = manager.exported_program()
    run = {
        "transform": lambda: manager.transform([NoAdds()]),
        "configuration": lambda: manager.to_executorch(ExecutorchBackendConfig(passes=[NoAdds()])),
        "manager": lambda: PassManager([NoAdds()])(program.graph_module),
        "program manager": lambda: ExportedProgramPassManager([NoAdds()])(program),
    }[where]
    text = text_of(run, ValueError)
    assert text.startswith("this backend has no add\nThis happened in the pass NoAdds, at the node\n")
    assert "aten_add_tensor = aten.add.Tensor(aten_addmm_default, x) -> float32[2, 2]" in text
    assert re.search(LINE, text)


def test_a_pass_by_itself(manager):
    text = text_of(lambda: Misspelt()(manager.exported_program().graph_module), KeyError)
    assert "in the pass Misspelt" in text and re.search(LINE, text)


def test_a_pass_that_breaks_the_rules(manager):
    """EDGE-11: the pass that made the node is named, not only those that ran."""
    text = text_of(lambda: manager.transform([ScalarToTensorPass(), ToAten()]), SpecViolationError)
    assert "Operator torch._ops.aten.relu.default is not an edge operator" in text
    assert "exir_ops.edge.aten.relu.default" in text, "what to do"
    assert "so the pass ToAten must have broken them" in text
    assert re.search(LINE, text)


def test_a_pass_that_returns_something_else(manager):
    def forgot(graph_module):
        return graph_module

    text = text_of(lambda: manager.transform([forgot]), TypeError)
    assert text.startswith("a pass must return a PassResult(graph_module, modified) or None, got GraphModule")
    assert "in the pass forgot" in text

    class Forgot(ExportedProgramPassBase):
        def call(self, exported_program):
            return exported_program

    text = text_of(lambda: ExportedProgramPassManager([Forgot()])(manager.exported_program()), TypeError)
    assert "must return an ExportedProgramPassResult(exported_program, modified), got ExportedProgram" in text
    module = torch.nn.ReLU()
    text = text_of(
        lambda: PassManager([lambda gm: PassResult(module, True)])(manager.exported_program().graph_module), ExportError
    )
    assert "a pass must return a GraphModule, got ReLU" in text


def test_a_pass_that_leaves_a_broken_graph(manager):
    def dangling(graph_module):
        other = torch.fx.Graph()
        graph_module.graph.output_node().args = ((other.placeholder("z"),),)
        return PassResult(graph_module, True)

    text = text_of(lambda: manager.transform([dangling]), RuntimeError)
    assert "in the pass dangling" in text


def test_a_pass_that_calls_a_method(manager):
    def to_method(module):
        (node,) = [node for node in module.graph.nodes if node.target is edge.relu.default]
        with module.graph.inserting_after(node):
            node.replace_all_uses_with(module.graph.call_method("relu", (node.args[0],)))
        return PassResult(module, True)

    module = manager.exported_program().graph_module
    with pytest.raises(ExportError, match=r"relu is a call_method node.*insert a call_function node"):
        PassManager([to_method])(copy.deepcopy(module))


def test_a_fake_tensor_in_the_graph(manager):
    class Fake(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op is edge.add.Tensor:
                return super().call_operator(op, (args[0], args[1].data), kwargs, meta)
            return super().call_operator(op, args, kwargs, meta)

    text = text_of(lambda: manager.transform([Fake()]), Exception)
    assert "a pass put the fake tensor" in text and "Build new tensors with operators" in text
    assert "in the pass Fake" in text and re.search(LINE, text)


def test_a_check_that_fails(manager):
    """PAS-12: the check and the pass are named."""

    def check_no_relu(graph_module):
        if any(n.target is edge.relu.default for n in graph_module.graph.nodes):
            raise ValueError("a relu is left")

    passes = PassManager([ScalarToTensorPass()], run_checks_after_each_pass=True)
    passes.add_checks(check_no_relu)
    text = text_of(lambda: passes(manager.exported_program().graph_module), ValueError)
    assert text == "a relu is left\nThe check check_no_relu failed after the pass ScalarToTensorPass."


def test_our_own_pass_that_fails(manager, monkeypatch):
    """An error in our own pass says that it is a defect of this package."""

    def fail(self, graph_module):
        for node in graph_module.graph.nodes:
            if node.target is edge.relu.default:
                raise AssertionError("unexpected")

    monkeypatch.setattr(NormalizeViewCopyBasePass, "call", fail)
    text = text_of(manager.to_executorch, AssertionError)
    assert "in the pass NormalizeViewCopyBasePass, at the node" in text and re.search(LINE, text)
    assert "The pass is the exporter's own" in text and "in method 'forward'" in text


def test_a_planner_that_fails(manager):
    class Full(MemoryPlanningPass):
        def run(self, graph_module, graph_signature=None):
            raise MemoryError("the arena has 10 bytes")

    config = ExecutorchBackendConfig(memory_planning_pass=Full())
    text = text_of(lambda: manager.to_executorch(config), MemoryError)
    assert text.startswith("the arena has 10 bytes\nThis happened in the pass Full") and "'forward'" in text


def test_an_operator_that_cannot_be_lowered():
    """An error of a decomposition says at which node of the program."""
    library = torch.library.Library("sdk_test_lowering", "DEF")
    library.define("odd(Tensor x) -> Tensor")
    library.impl("odd", torch.relu, "CompositeImplicitAutograd")

    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.ops.sdk_test_lowering.odd(x)

    program = export(Odd(), (torch.ones(2),))
    next(n for n in program.graph.nodes if n.op == "call_function").args = (None,)
    text = text_of(lambda: to_edge(program), Exception)
    assert "while lowering to edge dialect the node" in text and "test_pass_errors.py" in text


def test_errors_of_graphs_without_metadata():
    """Errors of graphs without metadata contain no invented places."""
    graph = torch.fx.Graph()
    graph.output((graph.call_function(edge.add.Tensor, (graph.placeholder("x"), 1)),))
    module = GraphModule(torch.nn.Module(), graph)
    text = text_of(lambda: PassManager([NoAdds()])(module), ValueError)
    assert "add_tensor = aten.add.Tensor(x, 1)\nTo see" in text.replace("aten_add", "add")


def test_the_error_keeps_its_type(manager):
    """The caller catches the exception type that the pass raised."""

    class CustomError(Exception):
        pass

    def fail(graph_module):
        raise CustomError

    with pytest.raises(CustomError):
        manager.transform([fail])
