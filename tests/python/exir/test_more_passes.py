# SPDX-License-Identifier: BSD-3-Clause
"""Passes over constants, quantised inputs and outputs of a program, scratch memory, and device copies."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from sdk.exir import memory, to_edge
from sdk.exir.dialects._ops import ops as exir_ops
from sdk.exir.operator.manip import ScratchTensorMetadata, attach_get_scratch_metas_fn
from sdk.exir.pass_base import ExportPass
from sdk.exir.passes import ScalarToTensorPass, SpecPropPass, ToOutVarPass, to_scratch_op_pass
from sdk.exir.passes._device_copy_ops_registry import lib as device_copies  # noqa: F401  (registers the operators)
from sdk.exir.passes.const_prop_pass import ConstPropPass
from sdk.exir.passes.convert_constant_dim_order_pass import convert_constant_dim_order_pass
from sdk.exir.passes.quantize_io_pass import (
    QuantizeInputs,
    QuantizeOutputs,
    extract_io_quant_params,
    get_config_method_name,
)
from sdk.exir.scalar_type import ScalarType
from sdk.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
from zoo.function import Function


def test_weights_become_contiguous():
    """Weights with another dim order become contiguous and keep their values."""
    model = torch.nn.Conv2d(3, 4, 3).eval()
    model.weight = torch.nn.Parameter(torch.randn(3, 3, 4, 3).permute(2, 0, 1, 3))
    args = (torch.randn(1, 3, 8, 8),)
    program = to_edge(export(model, args)).exported_program()
    assert not program.state_dict["weight"].is_contiguous()
    dense = convert_constant_dim_order_pass(program)
    assert dense.state_dict["weight"].is_contiguous()
    assert isinstance(dense.state_dict["weight"], torch.nn.Parameter)
    weight = next(n for n in dense.graph.nodes if n.name == "p_weight")
    assert weight.meta["val"].is_contiguous()
    assert not program.state_dict["weight"].is_contiguous()
    torch.testing.assert_close(dense.module()(*args), model(*args))


def test_weights_that_stay_channels_last():
    """As in ExecuTorch, contiguous and channels-last weights stay as they are, and so does the layout of results."""
    weight = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    program = export(Function(lambda x: x + weight), (torch.randn(2, 3, 4, 5),))
    (before,), (after,) = program.constants.values(), convert_constant_dim_order_pass(program).constants.values()
    torch.testing.assert_close(after, before, check_stride=True)
    assert after.is_contiguous(memory_format=torch.channels_last)


def test_constants_in_a_graph_module():
    """A sum of attributes is computed ahead of time."""
    mode = torch._subclasses.FakeTensorMode()
    root, graph = torch.nn.Module(), torch.fx.Graph()
    root.register_buffer("scale", torch.tensor([2.0, 3.0]))
    x, scale = graph.placeholder("x"), graph.get_attr("scale")
    total = graph.call_function(exir_ops.edge.aten.add.Tensor, (scale, scale))
    result = graph.call_function(exir_ops.edge.aten.mul.Tensor, (x, total))
    graph.output((result,))
    for node in (x, scale, total, result):
        node.meta["val"] = mode.from_tensor(torch.ones(2))
    folded = ConstPropPass()(torch.fx.GraphModule(root, graph)).graph_module
    assert [n.target for n in folded.graph.nodes if n.op == "call_function"] == [exir_ops.edge.aten.mul.Tensor]
    assert folded(torch.tensor([1.0, 10.0]))[0].tolist() == [4.0, 60.0]


def test_device_copies():
    """Copies are new memory with the same values."""
    x = torch.arange(4.0)
    for name in ("_h2d_copy", "_d2h_copy"):
        op = getattr(torch.ops.et_copy, name)
        copy = op.default(x)
        assert copy.tolist() == x.tolist() and copy.data_ptr() != x.data_ptr()
        out = torch.empty(0)
        assert op.out(x, out=out) is out and out.tolist() == x.tolist()
        assert getattr(exir_ops.edge.et_copy, name).default.to_out_variant() is op.out


QUANTISED = torch.ops.quantized_decomposed
PARAMETERS = (-128, 127, torch.int8)


class Quantised(torch.nn.Module):
    def forward(self, x, y):
        x = QUANTISED.dequantize_per_tensor(QUANTISED.quantize_per_tensor(x, 0.1, 3, *PARAMETERS), 0.1, 3, *PARAMETERS)
        y = QUANTISED.dequantize_per_tensor(QUANTISED.quantize_per_tensor(y, 0.2, 0, *PARAMETERS), 0.2, 0, *PARAMETERS)
        z = QUANTISED.quantize_per_tensor(x + y, 0.3, -5, *PARAMETERS)
        return QUANTISED.dequantize_per_tensor(z, 0.3, -5, *PARAMETERS)


REAL = (torch.tensor([1.0, -2.0]), torch.tensor([0.4, 3.0]))


def quantised():
    return to_edge(export(Quantised(), REAL))


def constants(manager):
    return {name: manager._config_methods[name] for name in sorted(manager.config_methods)}


def test_quantised_inputs_and_outputs():
    """The caller quantises with the constants that the program returns; the results are the same."""
    manager = quantised()
    manager = manager.transform([QuantizeInputs(manager, [0, 1]), QuantizeOutputs(manager, [0])])
    assert constants(manager)["input0_scale"] == 0.1 and constants(manager)["output0_zp"] == -5
    assert constants(manager)["input1_dtype"] == ScalarType.CHAR and len(constants(manager)) == 15
    loaded = _load_for_executorch_from_buffer(manager.to_executorch().buffer)
    given = [
        QUANTISED.quantize_per_tensor(t, loaded.run_method(f"input{i}_scale", ())[0],
                                      loaded.run_method(f"input{i}_zp", ())[0], *PARAMETERS)
        for i, t in enumerate(REAL)
    ]  # fmt: skip
    (result,) = loaded.forward(given)
    assert result.dtype == torch.int8
    torch.testing.assert_close(QUANTISED.dequantize_per_tensor(result, 0.3, -5, *PARAMETERS), Quantised()(*REAL))


def test_quantised_inputs_of_other_parameters():
    """If the caller quantises with other parameters than the model, the program requantises the inputs. The names of
    the constants start with the name of the method."""
    manager = quantised()
    given = {0: {"scale": 0.5, "zp": 1, "dtype": torch.int8}}
    manager = manager.transform([QuantizeInputs(manager, given, method_name="forward")])
    assert constants(manager) == {
        get_config_method_name("forward", "input", 0, key): value
        for key, value in (
            ("dtype", ScalarType.CHAR),
            ("quant_max", 127),
            ("quant_min", -128),
            ("scale", 0.5),
            ("zp", 1),
        )
    }
    x = QUANTISED.quantize_per_tensor(REAL[0], 0.5, 1, *PARAMETERS)
    torch.testing.assert_close(manager.exported_program().module()(x, REAL[1]), Quantised()(*REAL))
    with pytest.raises(ValueError, match="need 'scale'; got \\['dtype'\\]"):
        manager = quantised()
        manager.transform([QuantizeInputs(manager, {0: {"dtype": torch.int8}})])


def test_parameters_of_inputs_and_outputs():
    found = extract_io_quant_params(quantised(), input_idxs=(0, 1), output_idxs=(0,))
    assert found["inputs"]["x"] == {
        "scale": 0.1,
        "zero_point": 3,
        "quant_min": -128,
        "quant_max": 127,
        "dtype": ScalarType.CHAR,
    }
    assert [p["scale"] for p in found["outputs"].values()] == [0.3]


def test_inputs_and_outputs_that_are_not_quantised():
    manager = to_edge(export(torch.nn.ReLU(), (torch.ones(2),)))
    with pytest.raises(ValueError, match=r"input 0 \(input\) is not only quantised: it is used by .*aten\.relu"):
        manager.transform([QuantizeInputs(manager, [0])])
    with pytest.raises(ValueError, match="output 0 is not dequantised at the end: it is made by"):
        manager.transform([QuantizeOutputs(manager, [0])])
    with pytest.raises(ValueError, match="there is no input 5: the program has 1 inputs"):
        manager.transform([QuantizeInputs(manager, [5])])
    with pytest.raises(ValueError, match="there is no output 1"):
        manager.transform([QuantizeOutputs(manager, [1])])
    with pytest.raises(ValueError, match="is not only quantised"):
        extract_io_quant_params(manager)


def test_numbers_become_tensors_of_the_precision_of_the_others():
    """A pass adds a number to a float64 tensor: 0.1 in float32 is a different number."""

    class AddTenth(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(op, (args[0], 0.1), kwargs, meta)

    for dtype in (torch.float32, torch.float64):
        args = (torch.ones(3, dtype=dtype), torch.ones(3, dtype=dtype))
        edge = to_edge(export(Function(lambda x, y: x * y), args)).transform([AddTenth(), ScalarToTensorPass()])
        (result,) = _load_for_executorch_from_buffer(edge.to_executorch().buffer).forward(args)
        torch.testing.assert_close(result, args[0] * 0.1, rtol=0, atol=0)


def test_numbers_are_replaced_once():
    program = export(Function(lambda x: x * 3.5), (torch.ones(2),))
    first = ScalarToTensorPass()(program.graph_module)
    assert first.modified and not ScalarToTensorPass()(first.graph_module).modified
    assert first.graph_module(torch.ones(2))[0].tolist() == [3.5, 3.5]


def test_scratch_memory():
    """PAS-14: an operator gets the scratch tensors that it requests, planned like others."""
    library = torch.library.Library("sdk_test_scratch", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.define("twice.scratch(Tensor x, *, Tensor(b!) room, Tensor(a!) out) -> Tensor(a!)")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    out = torch.ops.sdk_test_scratch.twice.out

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.ops.sdk_test_scratch.twice(x) + 1

    module = to_edge(export(Model(), (torch.ones(3),))).exported_program().graph_module
    SpecPropPass()(module)
    ToOutVarPass()(module)
    with pytest.raises(RuntimeError, match="nothing says how much it needs"):
        to_scratch_op_pass(module)

    @attach_get_scratch_metas_fn(out)
    def scratch(x, *, out):
        return {"room": ScratchTensorMetadata(torch.int8, torch.Size([x.numel() * 4]))}

    assert to_scratch_op_pass(module).modified and not to_scratch_op_pass(module).modified
    (call,) = [n for n in module.graph.nodes if n.target is torch.ops.sdk_test_scratch.twice.scratch]
    room = call.kwargs["room"]
    assert room.target is memory.alloc and room.args == (((12,), torch.int8),)
    assert room.meta["spec"].dtype == torch.int8 and list(room.meta["spec"].shape) == [12]
