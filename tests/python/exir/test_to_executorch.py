# SPDX-License-Identifier: BSD-3-Clause
"""Edge dialect to out variants: allocations, shared views, write-backs, specs and the errors on the way."""

from __future__ import annotations

import io
import re

import edge_cases
import pytest
import torch
from torch.export import Dim, export

from sdk.exir import ExecutorchBackendConfig, memory, to_edge
from sdk.exir._to_executorch import lower_to_executorch
from sdk.exir.error import ExportError
from sdk.exir.schema import TensorShapeDynamism
from sdk.runtime import Runtime


def _lower(module, args, dynamic_shapes=None, **config):
    manager = to_edge(export(module, args, dynamic_shapes=dynamic_shapes))
    return lower_to_executorch(manager.exported_program(), ExecutorchBackendConfig(**config))


def _nodes(program):
    return {n.name: n for n in program.graph.nodes}


class Foo(torch.nn.Module):
    def forward(self, a, x, b):
        y = torch.mm(a, x)
        z = y + b
        a = z - a
        y = torch.mm(a, x)
        return y + b


def test_out_variants_and_allocations_of_the_tutorial():
    """ETPM-03, ETPM-04"""
    program = _lower(Foo(), tuple(torch.randn(2, 2) for _ in range(3)))
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    allocations = [n for n in calls if n.target is memory.alloc]
    assert [n.args for n in allocations] == [(((2, 2), torch.float32),)] * 5
    outs = [n for n in calls if n.target is not memory.alloc]
    aten = torch.ops.aten
    assert [n.target for n in outs] == [aten.mm.out, aten.add.out, aten.sub.out, aten.mm.out, aten.add.out]
    assert all(n.kwargs["out"] in allocations for n in outs)
    assert all(n.kwargs["out"].meta["spec"] is n.meta["spec"] for n in outs)


def test_several_results_have_one_allocation_each():
    program = _lower(torch.nn.LayerNorm(4), (torch.randn(2, 4),))
    (norm,) = [n for n in program.graph.nodes if n.target is torch.ops.aten.native_layer_norm.out]
    assert list(norm.kwargs) == ["out0", "out1", "out2"]
    assert [k.meta["spec"] for k in norm.kwargs.values()] == list(norm.meta["spec"])


def test_results_in_a_list_are_read_from_their_allocation():
    program = _lower(edge_cases.Function(lambda x: [t + 1 for t in x.split(1)]), (torch.randn(2, 3),))
    (split,) = [n for n in program.graph.nodes if n.target is torch.ops.aten.split_with_sizes_copy.out]
    items = [n for n in program.graph.nodes if n.name.startswith("getitem")]
    assert split.kwargs["out"].args == ([((1, 3), torch.float32)] * 2,)
    assert all(i.args[0] is split.kwargs["out"] for i in items)


def test_views_share_memory_unless_returned():
    """remove_view_copy: a view has its own sizes and the memory of its base."""
    function = edge_cases.Function(lambda x: ((x + 1).view(6).view(3, 2).relu(), (x * 2).view(6)))
    program = _lower(function, (torch.randn(2, 3),))
    (view,) = [n for n in program.graph.nodes if n.target is memory.view]
    base = view.args[0]
    assert base.name == "aten_add_tensor"
    view.meta["spec"].mem_offset = 64
    view.meta["spec"].lifetime[1] = 9
    assert (base.meta["spec"].mem_offset, base.meta["spec"].lifetime[1]) == (64, 9)
    assert (view.meta["spec"].shape, base.meta["spec"].shape) == ([3, 2], [2, 3])
    assert sum(n.target is torch.ops.aten.view_copy.out for n in program.graph.nodes) == 1


def test_views_are_copied_when_asked():
    function = edge_cases.Function(lambda x: (x + 1).view(6).relu())
    program = _lower(function, (torch.randn(2, 3),), remove_view_copy=False)
    assert not any(n.target is memory.view for n in program.graph.nodes)


def test_buffers_are_written_back_at_the_end():
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x):
            self.count.add_(x)
            return self.count * 2

    program = _lower(Counter(), (torch.ones(2),))
    nodes = list(program.graph.nodes)
    assert nodes[-2].target is torch.ops.aten.copy_.default
    assert nodes[-2].args[0].name == "b_count"
    assert len(nodes[-1].args[0]) == 1
    assert not nodes[-2].args[0].meta["spec"].const
    assert program.graph_signature.buffers_to_mutate == {nodes[-2].name: "count"}


def test_old_values_survive_the_write_back():
    """A method that returns the old value of a buffer, or swaps two buffers, reads a buffer after its first write."""

    class Swap(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(2))
            self.register_buffer("b", torch.ones(2))

        def forward(self, x):
            old = self.a.clone()
            self.a.copy_(self.b)
            self.b.copy_(old)
            return old

    program = _lower(Swap(), (torch.ones(2),))
    writes = [n for n in program.graph.nodes if n.target is torch.ops.aten.copy_.default]
    returned = next(n for n in program.graph.nodes if n.op == "output").args[0]
    assert len(writes) == 2
    assert all(w.args[1].op != "placeholder" for w in writes)
    assert all(r.op != "placeholder" for r in returned)


def test_dynamic_sizes_have_their_upper_bound():
    """MEM-03, MEM-04, PAS-16"""

    class Module(torch.nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] * 2, 4).relu() + torch.zeros(x.shape[0] * 2, 4)

    program = _lower(Module(), (torch.randn(2, 8),), {"x": {0: Dim("batch", min=1, max=8)}})
    nodes = _nodes(program)
    assert nodes["x"].meta["spec"].shape == [8, 8]
    assert nodes["x"].meta["spec"].shape_dynamism == TensorShapeDynamism.DYNAMIC_BOUND
    assert nodes["aten_relu_default"].kwargs["out"].args == (((16, 4), torch.float32),)
    assert nodes["mul"].target.name() == "executorch_prim::mul.Scalar"


def test_a_size_without_a_bound_is_that_of_the_example():
    """As in ExecuTorch, so that exporters which give no bound work; a warning and the receipt say so."""

    class Module(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, x]).relu() + torch.cat([y, y])

    shapes = {"x": {0: (rows := Dim("rows"))}, "y": {0: rows}}
    inputs = (torch.randn(3, 8), torch.randn(3, 8))
    edge = to_edge(export(Module(), inputs, dynamic_shapes=shapes))
    text = r"dimension 0 of 'x' and dimension 0 of 'y' have no upper bound: memory is planned for the size .*\(3\)"
    with pytest.warns(UserWarning, match=rf"method 'forward': {text}"):
        made = edge.to_executorch()
    assert re.search(text, " ".join(made.get_receipt().notes))
    assert _nodes(made.exported_program())["aten_relu_default"].kwargs["out"].args == (((6, 8), torch.float32),)
    method = Runtime.get().load_program(made.buffer).load_method("forward")
    for count in (3, 1, 2):
        x, y = torch.randn(count, 8), torch.randn(count, 8)
        torch.testing.assert_close(method.execute((x, y))[0], Module()(x, y))
    with pytest.raises(RuntimeError, match=r"must have sizes \(0..3, 8\), found \(4, 8\)"):
        method.execute((torch.randn(4, 8), torch.randn(4, 8)))


def test_an_unbounded_size_that_depends_on_data_says_how_to_bound_it():
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.ones(x.item())

    with pytest.raises(ExportError, match=r"no upper bound.*torch._check\(n <= 64\)"):
        _lower(Module(), (torch.tensor(3),))


@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_number_without_a_bound_is_not_that_of_the_example(is_loaded: bool):
    """An integer input may be a size. The runtime does not check its value, so memory cannot be planned for the
    example's. The dimension of a tensor still has its own size."""

    class Module(torch.nn.Module):
        def __init__(self, bound: int | None = None):
            super().__init__()
            self.bound = bound

        def forward(self, x, n):
            if self.bound is not None:
                torch._check(n <= self.bound)
            return torch.zeros(n) + x.sum()

    def edge(bound=None):
        program = export(Module(bound), (torch.ones(4, 2), 3), dynamic_shapes=({0: Dim("rows")}, Dim.DYNAMIC))
        if is_loaded:
            file = io.BytesIO()
            torch.export.save(program, file)
            program = torch.export.load(io.BytesIO(file.getvalue()))
        return to_edge(program)

    unbounded = edge()
    with (
        pytest.warns(UserWarning, match="dimension 0 of 'x' has no upper bound"),
        pytest.raises(ExportError, match=r"no upper bound.*is an integer input, torch._check\(n <= 64\)"),
    ):
        unbounded.to_executorch()
    with pytest.warns(UserWarning, match="dimension 0 of 'x' has no upper bound"):
        planned = edge(16).to_executorch().exported_program()
    assert _output_shape(planned) == (16,)


def test_a_number_that_is_a_size_too_has_the_bound_of_the_size():
    class Module(torch.nn.Module):
        def forward(self, x, n):
            torch._check(x.shape[0] == n)
            return torch.zeros(n) + x.sum()

    shapes = ({0: Dim.DYNAMIC}, Dim.DYNAMIC)
    program = to_edge(export(Module(), (torch.ones(3, 2), 3), dynamic_shapes=shapes))
    with pytest.warns(UserWarning, match=r"dimension 0 of 'x' has no upper bound: .*\(3\)"):
        planned = program.to_executorch().exported_program()
    assert _output_shape(planned) == (3,)


def _output_shape(program):
    """The shape that memory is planned for."""
    return tuple(program.graph.output_node().args[0][0].meta["spec"].shape)


def test_sizes_that_are_multiples_of_one_without_a_bound():
    """The symbol is then no dimension itself."""

    class Module(torch.nn.Module):
        def forward(self, x):
            return x.view(2, -1).sum(0) * 2

    half = Dim("half", min=1)
    program = to_edge(export(Module(), (torch.arange(8.0),), dynamic_shapes=({0: 2 * half},)))
    with pytest.warns(UserWarning, match=r"dimension 0 of 'x' has no upper bound"):
        buffer = program.to_executorch().buffer
    method = Runtime.get().load_program(buffer).load_method("forward")
    for count in (8, 2):
        x = torch.arange(float(count))
        torch.testing.assert_close(method.execute((x,))[0], Module()(x))


def test_missing_out_variants_are_all_named():
    library = torch.library.Library("sdk_test_no_out", "DEF")
    for name in ("first", "second"):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x.clone(), "CompositeExplicitAutograd")
    ops = torch.ops.sdk_test_no_out
    with pytest.raises(RuntimeError, match="Missing out variants") as error:
        _lower(edge_cases.Function(lambda x: ops.first(x) + ops.second(x)), (torch.randn(2),))
    assert "sdk_test_no_out::first" in str(error.value)
    assert "sdk_test_no_out::second" in str(error.value)


def test_branches_are_lowered_too():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x - 2.0, (x,))

    program = _lower(Branch(), (torch.ones(3),))
    targets = [n.target for m in program.graph_module.children() for n in m.graph.nodes if n.op == "call_function"]
    assert {torch.ops.aten.sin.out, torch.ops.aten.add.out, torch.ops.aten.sub.out} < set(targets)


def test_save_replaces_whole_files_only(tmp_path, monkeypatch):
    """ETPM-07, ETPM-10, ETPM-11"""
    program = to_edge(export(torch.nn.Linear(2, 2), (torch.randn(1, 2),))).to_executorch()
    path = tmp_path / "model.pte"
    program.save(path)
    stream = io.BytesIO()
    program.write_to_file(stream)
    assert path.read_bytes() == program.buffer == stream.getvalue()
    assert program.buffer[4:8] == b"ET12"
    assert [p.name for p in tmp_path.iterdir()] == ["model.pte"]

    def fail(file):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(program._pte_data, "write_to_file", fail)
    with pytest.raises(OSError, match="disk full"):
        program.save(path)
    assert path.read_bytes() == program.buffer
    assert [p.name for p in tmp_path.iterdir()] == ["model.pte"]
    with pytest.raises(ValueError, match=r"must end in \.pte"):
        program.save(tmp_path / "model.bin")


def test_manager_members():
    """ETPM-06"""
    edge = to_edge(export(torch.nn.Linear(2, 2), (torch.randn(1, 2),)), constant_methods={"vocab": 7})
    program = edge.to_executorch()
    assert program.methods == {"forward"}
    assert program.config_methods == {"vocab"}
    assert {plan.name for plan in program.executorch_program.execution_plan} == {"forward", "vocab"}
    assert program.exported_program().graph is not edge.exported_program().graph
    assert program.debug_handle_map
    out = io.StringIO()
    program.dump_executorch_program(out=out)
    assert out.getvalue()
