# SPDX-License-Identifier: BSD-3-Clause
"""ATen to edge dialect: names, operators, rules, and numbers against eager PyTorch."""

from __future__ import annotations

import copy
import warnings

import edge_cases
import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export
from torch.utils import _pytree as pytree

from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.dialects.edge._ops import EdgeOpOverload
from sdk.exir.error import ExportError
from sdk.exir.pass_base import ExportPass


class SimpleConv(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))


def _calls(program):
    return [n for n in program.graph.nodes if n.op == "call_function"]


def _targets(program):
    return [n.target for n in _calls(program)]


def run_program(program, *args):
    """Runs a functional program on its own weights; returns its results, written values first."""
    state = {**program.state_dict, **program.constants}
    inputs, rest = [], iter(pytree.tree_leaves(args))
    for spec in program.graph_signature.input_specs:
        inputs.append(next(rest) if spec.kind.name == "USER_INPUT" else state[spec.target])
    with torch.no_grad():
        return torch.fx.Interpreter(program.graph_module).run(*inputs)


@pytest.mark.sampled
@pytest.mark.parametrize("name", edge_cases.CASES)
def test_lowering_keeps_the_numbers(name):
    """EDGE-01, EDGE-02: every lowered graph computes what eager PyTorch computes, with the metadata it claims."""
    torch.manual_seed(0)
    module, args = edge_cases.CASES[name]()
    module.eval()
    expected = pytree.tree_leaves(module(*copy.deepcopy(args)))
    program = to_edge(export(module, args)).exported_program()
    actual = pytree.tree_leaves(run_program(program, *args))
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pads_stay_whole(mode, rank):
    """Pads are not decomposed, because the decomposition computes indices in each call."""

    class Pad(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.pad(x, (1, 2) * rank, mode=mode)

    x = torch.randn(1, 2, *[4] * rank)
    program = to_edge(export(Pad(), (x,))).exported_program()
    names = [target._op.overloadpacket.__name__ for target in _targets(program)]
    expected = {
        ("reflect", 1): ["reflection_pad1d"],
        ("reflect", 2): ["reflection_pad2d"],
        ("reflect", 3): ["reflection_pad3d"],
        ("replicate", 1): ["unsqueeze_copy", "replication_pad2d", "squeeze_copy"],
        ("replicate", 2): ["replication_pad2d"],
        ("replicate", 3): ["replication_pad3d"],
    }[mode, rank]
    assert names == expected
    torch.testing.assert_close(run_program(program, x)[0], Pad()(x), rtol=0, atol=0)


@pytest.mark.sampled
@pytest.mark.parametrize("name", edge_cases.CASES)
def test_metadata_describes_the_tensors(name):
    """DIA-10: shape, dtype and layout of every node's `val` equal those of the tensor that the node produces."""
    module, args = edge_cases.CASES[name]()
    program = to_edge(export(module.eval(), args)).exported_program()
    wrong = []

    class Check(torch.fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            val = n.meta.get("val")
            if isinstance(result, torch.Tensor) and n.op == "call_function":
                same = val.shape == result.shape and val.dtype == result.dtype
                if not same or (result.numel() > 1 and val.stride() != result.stride()):
                    wrong.append((n.name, val.shape, result.shape, val.stride(), result.stride()))
            return result

    state = {**program.state_dict, **program.constants}
    rest = iter(pytree.tree_leaves(args))
    specs = program.graph_signature.input_specs
    inputs = [next(rest) if s.kind.name == "USER_INPUT" else state[s.target] for s in specs]
    with torch.no_grad():
        Check(program.graph_module).run(*inputs)
    assert wrong == []


def test_names_of_the_tutorial():
    """EDGE-01: nodes and operators print as in the documents."""
    program = to_edge(export(SimpleConv(), (torch.randn(1, 3, 256, 256),))).exported_program()
    assert [n.name for n in _calls(program)] == ["aten_convolution_default", "aten_relu_default"]
    assert "executorch_exir_dialects_edge__ops_aten_convolution_default" in str(program)
    convolution = _calls(program)[0]
    assert convolution.args[3:] == ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)


def test_all_calls_are_edge_operators():
    """EDGE-02"""
    program = to_edge(export(SimpleConv(), (torch.randn(1, 3, 8, 8),))).exported_program()
    assert all(isinstance(t, EdgeOpOverload) for t in _targets(program))
    assert exir_ops.edge.aten.relu.default in _targets(program)
    assert exir_ops.edge.aten.relu.default is exir_ops.edge.aten.relu.default


def test_linear_becomes_permute_and_addmm():
    """DIA-02"""
    program = to_edge(export(torch.nn.Linear(4, 5), (torch.randn(2, 4),))).exported_program()
    assert [n.name for n in _calls(program)] == ["aten_permute_copy_default", "aten_addmm_default"]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_pool_to_one_pixel_is_a_mean_in_every_layout(batch: int) -> None:
    """PyTorch computes such a pool as a mean and, for a channels-last image, sets the strides of the result by a view.
    This view must not become an operator; other views by strides do."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.ReLU()).eval()
    image = torch.randn(batch, 3, 6, 5)
    for layout in (torch.contiguous_format, torch.channels_last):
        given = image.to(memory_format=layout)
        program = to_edge(export(model.to(memory_format=layout), (given,))).exported_program()
        names = [target.name() for target in _targets(program)]
        assert "aten::mean.dim" in names and "aten::as_strided_copy" not in names
        torch.testing.assert_close(program.module()(given), model(given))


@pytest.mark.parametrize(
    ("size", "stride", "offset"), [((3, 2), (1, 3), 0), ((2, 3), (3, 1), 1), ((2, 3, 1), (3, 1, 1), 0)]
)
def test_views_by_strides_stay(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> None:
    class View(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.as_strided(size, stride, offset) + 1

    x = torch.arange(12.0).reshape(4, 3)[:3]
    given = x.clone()[:2] if offset == 0 else x.clone()
    program = to_edge(export(View(), (given,))).exported_program()
    assert "aten::as_strided_copy" in [target.name() for target in _targets(program)]
    torch.testing.assert_close(program.module()(given), View()(given))


def test_numbers_become_constants_of_the_promoted_dtype():
    """EDGE-02: a number where the operator takes a tensor is lifted; equal numbers share one constant."""
    program = to_edge(export(edge_cases.Function(lambda x: (x + 1) * 1), (torch.randn(2),))).exported_program()
    constants = {k: v for k, v in program.state_dict.items() if k.startswith("_lifted_tensor_constant")}
    assert list(constants) == ["_lifted_tensor_constant0"]
    assert constants["_lifted_tensor_constant0"].dtype == torch.float32
    kinds = {s.target: s.kind.name for s in program.graph_signature.input_specs}
    assert kinds["_lifted_tensor_constant0"] == "BUFFER"


def test_single_program_is_called_forward():
    """EDGE-03"""
    manager = to_edge(export(SimpleConv(), (torch.randn(1, 3, 8, 8),)))
    assert manager.methods == {"forward"}
    assert manager.config_methods == set()


def test_several_methods_and_constants():
    """EDGE-04, EDGE-05, EDGE-15"""
    program = export(torch.nn.Linear(4, 5), (torch.randn(2, 4),))
    manager = to_edge({"encode": program, "decode": program}, constant_methods={"get_bos_id": 1})
    assert manager.methods == {"encode", "decode"}
    assert manager.config_methods == {"get_bos_id"}
    with pytest.raises(KeyError, match="'forward'; the methods are decode, encode"):
        manager.exported_program()


def test_a_constant_method_cannot_replace_a_method():
    program = export(torch.nn.Linear(4, 5), (torch.randn(2, 4),))
    with pytest.raises(ValueError, match="'forward' is both"):
        to_edge(program, constant_methods={"forward": 1})


def test_input_program_is_not_changed():
    program = export(SimpleConv(), (torch.randn(1, 3, 8, 8),))
    before, weight = str(program), program.state_dict["conv.weight"]
    lowered = to_edge(program).exported_program()
    assert str(program) == before
    assert lowered.state_dict["conv.weight"] is weight


class Spectra(torch.nn.Module):
    """Calls two operators that neither PyTorch nor this project decomposes, and for which there is no kernel."""

    def forward(self, x):
        values = torch.linalg.eigvals(x)
        return values, torch.linalg.ldl_factor(x), torch.linalg.eig(x + 1)


def test_operator_outside_core_is_an_error_with_its_source():
    """EDGE-14: the tutorial's words, and where the operator comes from."""
    program = export(edge_cases.Function(torch.linalg.eig), (torch.eye(3),))
    operator = r"torch\._ops\.aten\.linalg_eig\.default"
    with pytest.raises(SpecViolationError, match=rf"^Operator {operator} is not Aten Canonical") as e:
        to_edge(program)
    assert "function.py" in str(e.value)
    assert "_core_aten_ops_exception_list" in str(e.value)


def test_all_operators_outside_core_are_one_error():
    """EDGE-14: every call of each, in every method, with its line; and what to do."""
    program = export(Spectra(), (torch.eye(3),))
    for programs in (program, {"a": program, "b": export(Spectra(), (torch.eye(2),))}):
        for lower in (to_edge, to_edge_transform_and_lower):
            with pytest.raises(SpecViolationError, match=r"^2 kinds of calls cannot be lowered") as e:
                lower(programs)
            text = str(e.value)
            assert "aten.linalg_eig.default is not" in text and "aten.linalg_ldl_factor_ex.default is not" in text
            for code in ("values = torch.linalg.eigvals(x)", "return values, torch.linalg.ldl_factor(x)"):
                assert f"in forward: {code}" in text
            assert "[torch.ops.aten.linalg_eig.default, torch.ops.aten.linalg_ldl_factor_ex.default]" in text
            assert "kernel is linked into the runtime" in text and "run_decompositions()" in text
    assert e.value.__notes__ == ["in the methods 'a', 'b'"]


def test_check_can_be_turned_off_and_operators_excepted():
    """EDGE-06"""
    program = export(edge_cases.Function(torch.linalg.eig), (torch.eye(3),))
    to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    op = torch.ops.aten.linalg_eig.default
    to_edge(program, compile_config=EdgeCompileConfig(_core_aten_ops_exception_list=[op]))


@pytest.mark.parametrize("module", [torch.nn.BatchNorm2d(3), torch.nn.Dropout(), torch.nn.RReLU()])
def test_a_model_in_training_mode_is_told_so(module):
    x = (torch.randn(2, 3, 4, 4),)
    (note,) = (note for note in to_edge(export(module.train(), x))._report if "re-traced" not in note)
    assert "computes as in training" in note and "call .eval()" in note and "File" in note
    assert not any("training" in note for note in to_edge(export(module.eval(), x))._report)


def test_preserved_operators_stay_whole():
    """EDGE-06: preserve_ops"""
    config = EdgeCompileConfig(preserve_ops=[torch.ops.aten.linear.default])
    program = to_edge(export(torch.nn.Linear(4, 5), (torch.randn(2, 4),)), compile_config=config).exported_program()
    assert _targets(program) == [exir_ops.edge.aten.linear.default]


def test_memory_formats_become_dim_orders():
    """DIA-09"""
    function = edge_cases.Function(lambda x: x.to(memory_format=torch.channels_last))
    program = export(function, (torch.randn(1, 2, 3, 3),))
    (node,) = _calls(to_edge(program).exported_program())
    assert node.target is exir_ops.edge.dim_order_ops._to_dim_order_copy.default
    assert node.kwargs["dim_order"] == [0, 2, 3, 1]
    (node,) = _calls(to_edge(program, compile_config=EdgeCompileConfig(_skip_dim_order=True)).exported_program())
    assert node.target is exir_ops.edge.aten._to_copy.default


def test_transform_replaces_operators_in_a_copy():
    """EDGE-10, PAS-08"""

    class ConvertReluToSigmoid(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op == exir_ops.edge.aten.relu.default:
                return super().call_operator(exir_ops.edge.aten.sigmoid.default, args, {}, meta)
            return super().call_operator(op, args, kwargs, meta)

    manager = to_edge(export(SimpleConv(), (torch.randn(1, 3, 8, 8),)))
    changed = manager.transform([ConvertReluToSigmoid()])
    assert [n.name for n in _calls(changed.exported_program())] == ["aten_convolution_default", "aten_sigmoid_default"]
    assert exir_ops.edge.aten.relu.default in _targets(manager.exported_program())
    assert _calls(changed.exported_program())[1].meta["stack_trace"]
    with pytest.raises(KeyError, match="no method 'nope'"):
        manager.transform({"nope": [ConvertReluToSigmoid()]})


def test_transform_rejects_aten_operators():
    """EDGE-11"""

    class BackToAten(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(torch.ops.aten.relu.default if "relu" in str(op) else op, args, kwargs, meta)

    with pytest.raises(SpecViolationError, match=r"exir_ops\.edge\.aten\.relu\.default"):
        to_edge(export(SimpleConv(), (torch.randn(1, 3, 8, 8),))).transform([BackToAten()])


def test_manager_accepts_edge_programs_only():
    """EDGE-09"""
    program = export(SimpleConv(), (torch.randn(1, 3, 8, 8),))
    edge = to_edge(program).exported_program()
    assert EdgeProgramManager(edge, {"version": 3}).config_methods == {"version"}
    with pytest.raises(SpecViolationError):
        EdgeProgramManager(program)


def test_wrong_arguments_say_what_is_expected():
    with pytest.raises(TypeError, match=r"call torch\.export\.export"):
        to_edge(SimpleConv())
    with pytest.raises(TypeError, match="got list"):
        to_edge([])


def test_reassigned_constants_keep_their_own_values():
    """Constants made by different operators do not collide with weights of the same name."""

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("_lifted_tensor_constant0", torch.tensor(7.0))

        def forward(self, x):
            return x * self._lifted_tensor_constant0 + 2.5

    args = (torch.randn(2),)
    program = to_edge(export(Module(), args)).exported_program()
    torch.testing.assert_close(run_program(program, *args)[0], args[0] * 7.0 + 2.5)


@pytest.mark.parametrize(
    "name",
    [
        "in_place",
        "in_place_on_flattened",
        "write_through_select",
        "write_through_chain",
        "narrow",
        "narrow_to_nothing",
        "lstm_cell",
    ],
)
def test_common_writes_need_no_second_trace(name):
    module, args = edge_cases.CASES[name]()
    assert to_edge(export(module.eval(), args))._report == []


def test_cache_update_at_a_data_dependent_position():
    """A slice with a symbolic start is written to in place, without re-tracing, and the buffer gets the result."""
    module, args = edge_cases.Cache(), (torch.full((1, 1, 4), 3.0), torch.tensor([2]))
    manager = to_edge(export(module, args))
    program = manager.exported_program()
    written, returned = run_program(program, *args)
    expected = torch.ones(1, 8, 4)
    expected[:, 2] = 3.0
    torch.testing.assert_close(written, expected)
    torch.testing.assert_close(returned, expected * 2)
    assert list(program.graph_signature.buffers_to_mutate.values()) == ["keys"]
    assert manager._report == []


def test_a_write_to_a_constant_is_an_error_that_says_what_to_do():
    """A tensor that is not a buffer becomes a constant of the program, so a counter in it would never change."""

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = torch.zeros(1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return x + self.count

    with pytest.raises(ExportError, match=r"writes to the tensor count.*register_buffer.*strict=True") as error:
        to_edge(export(Counter(), (torch.ones(1),)))
    assert "self.count.add_(1)" in str(error.value)


def test_a_second_trace_is_reported():
    """The manager reports when a program had to be traced again, and why."""
    module, args = edge_cases.CASES["write_to_base_of_view"]()
    (note,) = to_edge(export(module, args))._report
    assert "re-traced" in note


def test_the_same_tensor_as_two_inputs_is_warned_of() -> None:
    """torch.export merges the inputs, so x - 2 y becomes y - 2 y."""

    class Difference(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x - 2 * y

    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"same tensor object as x and y, .* ignores x\. .* a clone\(\)"):
        to_edge(torch.export.export(Difference(), (x, x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        to_edge(torch.export.export(Difference(), (x, x.clone())))
