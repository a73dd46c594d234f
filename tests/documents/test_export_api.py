# SPDX-License-Identifier: BSD-3-Clause
"""The page "Export to ExecuTorch API Reference": every class, property and overload has the name that the page
gives."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.export import export

from sdk import exir
from sdk.exir.backend.backend_api import LoweredBackendModule, to_backend
from sdk.exir.backend.test.backend_with_compiler_demo import (  # noqa: F401  (defines the backend)
    BackendWithCompilerDemo,
)
from sdk.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from sdk.exir.backend.test.demo_backend import DemoBackend  # noqa: F401  (defines the backend)
from sdk.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.pass_base import ExportPass
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Repeat(torch.nn.Module):
    """The program in the page's table."""

    def forward(self, arg0_1, arg1_1):
        repeated = arg1_1.repeat(4, 1)
        return repeated * repeated, arg1_1 + arg1_1


class Package:
    """A user's object that can be lowered."""


class AddToMul(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        add = exir_ops.edge.aten.add.Tensor
        return super().call_operator(exir_ops.edge.aten.mul.Tensor if op is add else op, args, kwargs, meta)


ARGS = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0]))


def operators(program):
    return [n.target.__name__ for n in program.graph.nodes if n.op == "call_function" and "aten" in str(n.target)]


def test_to_edge():
    """EDGE-01, EDGE-03, EDGE-05, EDGE-06, EDGE-15"""
    parameters = list(inspect.signature(exir.to_edge).parameters)
    assert parameters[:3] == ["programs", "constant_methods", "compile_config"]
    program = export(Add(), ARGS)
    manager = exir.to_edge(
        {"one": program, "two": program},
        constant_methods={"get_bos_id": 1, "scale": 0.5, "shape": torch.tensor([2, 3])},
        compile_config=exir.EdgeCompileConfig(_check_ir_validity=False),
    )
    assert isinstance(manager, exir.EdgeProgramManager)
    assert manager.methods == {"one", "two"}
    assert manager.config_methods == {"get_bos_id", "scale", "shape"}
    assert exir.to_edge(program).methods == {"forward"}
    loaded = _load_for_executorch_from_buffer(manager.to_executorch().buffer)
    assert loaded.run_method("get_bos_id", ())[0] == 1
    assert loaded.run_method("scale", ())[0] == 0.5
    assert loaded.run_method("shape", ())[0].tolist() == [2, 3]


def test_edge_program_manager():
    """EDGE-09, EDGE-10, EDGE-12: transforms and delegation return copies, for all methods or for those named."""
    program = export(Add(), ARGS)
    manager = exir.to_edge({"one": program, "two": program})
    assert operators(manager.transform([AddToMul()]).exported_program("two")) == ["aten.mul.Tensor"]
    changed = manager.transform({"one": [AddToMul()]})
    assert operators(changed.exported_program("one")) == ["aten.mul.Tensor"]
    assert operators(changed.exported_program("two")) == ["aten.add.Tensor"]
    assert operators(manager.exported_program("one")) == ["aten.add.Tensor"]
    for partitioner, lowered in (
        (AddMulPartitionerDemo(), {"one", "two"}),
        ({"two": AddMulPartitionerDemo()}, {"two"}),
    ):
        result = manager.to_backend(partitioner)
        assert isinstance(result, exir.EdgeProgramManager)
        has_delegate = {
            m for m in result.methods if hasattr(result.exported_program(m).graph_module, "lowered_module_0")
        }
        assert has_delegate == lowered
    with pytest.raises(KeyError, match="there is no method 'three'; the methods are one, two"):
        manager.exported_program("three")


def test_executorch_program_manager(capsys, tmp_path):
    """ETPM-06, ETPM-07, ETPM-08, ETPM-10, ETPM-11, ETPM-13"""
    manager = exir.to_edge(export(Add(), ARGS), constant_methods={"version": 3}).to_executorch()
    assert isinstance(manager, exir.ExecutorchProgramManager)
    assert manager.methods == {"forward"}
    assert manager.config_methods == {"version"}
    assert manager.buffer[4:8] == b"ET12"
    assert torch.ops.aten.add.out in {n.target for n in manager.exported_program().graph.nodes}
    manager.dump_executorch_program()
    condensed = capsys.readouterr().out
    manager.dump_executorch_program(verbose=True)
    verbose = capsys.readouterr().out
    assert "aten::add.out" in condensed and "Program(" not in condensed
    assert verbose.startswith("Program(") and "execution_plan=" in verbose and len(verbose) > len(condensed)
    path = tmp_path / "model.pte"
    with path.open("wb") as file:
        manager.write_to_file(file)
    assert path.read_bytes() == manager.buffer
    manager.save(str(tmp_path / "saved.pte"))
    assert (tmp_path / "saved.pte").read_bytes() == manager.buffer
    handles = {n.meta["debug_handle"] for n in manager.exported_program().graph.nodes if "debug_handle" in n.meta}
    assert handles <= {h for method in manager.debug_handle_map.values() for h in method.values()} | {0}


def test_to_backend_overloads():
    """DEL-03: the type of the first argument chooses; other types can be registered."""
    edge = exir.to_edge(export(Add(), ARGS)).exported_program()
    assert isinstance(to_backend("BackendWithCompilerDemo", edge, []), LoweredBackendModule)
    assert hasattr(to_backend(edge, AddMulPartitionerDemo()).graph_module, "lowered_module_0")
    assert hasattr(to_backend(edge, AddMulPartitionerDemo).graph_module, "lowered_module_0")

    @to_backend.register
    def _(package: Package, text: str) -> str:
        return f"lowered {text}"

    assert to_backend(Package(), "it") == "lowered it"
    with pytest.raises(TypeError, match="takes a backend id, an ExportedProgram or a MethodProgramsPartitionerSpec"):
        to_backend(3.5)


def test_lowered_backend_module():
    """DEL-05, DEL-06: the program of a lowered module consists of its inputs, one delegate call and its results."""
    args = (torch.ones(2), torch.ones(2, 3))
    edge = exir.to_edge(export(Repeat(), args)).exported_program()
    lowered = to_backend("DemoBackend", edge, [])
    assert (lowered.backend_id, lowered.processed_bytes, lowered.compile_specs) == ("DemoBackend", b"imqnncompiled", [])
    assert operators(lowered.original_module) == operators(edge)
    plan = lowered.program().execution_plan[0]
    assert len(plan.inputs) == 2 and len(plan.outputs) == 2
    assert [type(i.instr_args).__name__ for i in plan.chains[0].instructions] == ["DelegateCall"]
    assert len(plan.chains[0].instructions[0].instr_args.args) == 4
    assert lowered.buffer()[4:8] == b"ET12"
    constructed = LoweredBackendModule(edge, "DemoBackend", b"bytes", [])
    assert constructed.processed_bytes == b"bytes"
    for got, want in zip(lowered(*args), Repeat()(*args), strict=True):
        torch.testing.assert_close(got, want)


def test_partitioners_in_order():
    """EDGE-08: nodes that the first partitioner does not take are offered to the next."""

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.sin(x + y) - y

    manager = exir.to_edge_transform_and_lower(
        export(Model(), ARGS), partitioner=[AddMulPartitionerDemo(), BackendWithPreprocessAllPartitioner()]
    )
    module = manager.exported_program().graph_module
    found = {m.backend_id: m.original_module for name, m in module.named_children() if name.startswith("lowered")}
    assert operators(found["BackendWithCompilerDemo"]) == ["aten.add.Tensor"]
    assert operators(found["FirstBackendWithPreprocessAll"]) == ["aten.sin.default"]
    assert operators(found["SecondBackendWithPreprocessAll"]) == ["aten.sub.Tensor"]
