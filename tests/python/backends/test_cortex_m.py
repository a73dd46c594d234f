# SPDX-License-Identifier: BSD-3-Clause
"""int8 models for a Cortex-M: quantised, lowered to the operators `cortex_m::*`, and run. The program gives each bit of
the operators' implementations in Python, and is within a step or two of PyTorch with quantize and dequantize."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from microcontroller_models import MODELS, inputs_of, model_of, quantized_by_cortex_m
from sdk.backends.cortex_m.edge import to_cortex_m
from sdk.backends.cortex_m.passes import CortexMPassManager
from sdk.backends.cortex_m.quantizer import CortexMQuantizer
from sdk.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
from sdk.exir import EdgeProgramManager
from sdk.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")

EDGES = {"quantize_per_tensor", "dequantize_per_tensor"}
OTHERS = {"executorch_prim::et_view", "dim_order_ops::_clone_dim_order"}
"""Operators of other libraries that a program may call: flattening a channels_last image copies its elements."""
FLOATS = {"add", "sub", "rsub", "mul", "sigmoid", "tanh", "linear", "addmm", "mm", "full"}
"""Operators that would compute in floats."""


def _operators(manager: EdgeProgramManager) -> Counter[str]:
    return Counter(
        str(node.target._schema.name)
        for node in manager.exported_program().graph.nodes
        if node.op == "call_function" and hasattr(node.target, "_schema")
    )


@pytest.mark.parametrize("target", ["cortex-m55", "cortex-m4"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_runs_on_the_kernels_to_the_last_bit(name: str, target: str) -> None:
    model, shape = model_of(name)
    quantized = quantized_by_cortex_m(model, shape)
    manager = to_cortex_m(
        torch.export.export(quantized, inputs_of(shape)), target_config=CortexMTargetConfig.from_target_string(target)
    )
    found = _operators(manager)
    expected = {f"cortex_m::{each}" for each in MODELS[name][2] | EDGES}
    assert {each for each in found if each.startswith("cortex_m::")} == expected
    assert {each for each in found if "quantized_decomposed" in each} == set()
    assert found["cortex_m::quantize_per_tensor"] == found["cortex_m::dequantize_per_tensor"] == 1, found

    program = manager.to_executorch()
    kernels = {operator.name for operator in program.executorch_program.execution_plan[0].operators}
    assert {each for each in kernels if not each.startswith("cortex_m::")} <= OTHERS, kernels
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    lowered = manager.exported_program().module()
    for seed in range(10, 15):
        inputs = inputs_of(shape, seed)
        (result,) = method.execute(list(inputs))
        assert torch.equal(result, lowered(*inputs))
        reference, real = quantized(*inputs), model(*inputs)
        steps = _step(manager)
        assert (result - reference).abs().max() <= 2.01 * steps, (result, reference)
        assert (result - real).abs().mean() <= 0.1 * real.abs().max()


def _step(manager: EdgeProgramManager) -> float:
    (last,) = manager.exported_program().graph.output_node().args[0]
    assert "dequantize" in last.name
    return float(last.args[1])


class Recurrent(nn.Module):
    """The last output of a layer, or the state of a cell after three steps."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        if not isinstance(self.layer, nn.LSTMCell):
            return self.layer(x)[0][:, -1]
        state = (x.new_zeros(2, 12), x.new_zeros(2, 12))
        for step in range(3):
            state = self.layer(x[:, step], state)
        return state[0]


RECURRENT = {
    "LSTM": lambda: nn.LSTM(8, 12, batch_first=True),
    "LSTM cell": lambda: nn.LSTMCell(8, 12),
    "RNN": lambda: nn.RNN(8, 12, batch_first=True),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_the_steps_of_recurrent_layers_are_computed_with_integers(name: str) -> None:
    """Gates and states are computed with integers, too; only operators that move elements stay. The program gives the
    same bits as the operators."""
    torch.manual_seed(0)
    model, shape = Recurrent(RECURRENT[name]()).eval(), (2, 3, 8)
    manager = to_cortex_m(torch.export.export(quantized_by_cortex_m(model, shape), inputs_of(shape)))
    found = _operators(manager)
    assert found["cortex_m::quantized_linear"] >= 4 and found["cortex_m::quantized_activation"] >= 3
    assert {each for each in found if each.rpartition(":")[2] in FLOATS} == set(), found
    method = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward")
    for seed in range(10, 13):
        inputs = inputs_of(shape, seed)
        (result,) = method.execute(list(inputs))
        assert torch.equal(result, manager.exported_program().module()(*inputs))
        assert (result - model(*inputs)).abs().mean() <= 0.03


def test_weights_are_summed_up_for_helium_only() -> None:
    model, shape = model_of("perceptron")
    program = torch.export.export(quantized_by_cortex_m(model, shape), inputs_of(shape))
    for cpu, is_summed in ((CortexM.M55, True), (CortexM.M4, False), (CortexM.M0, False)):
        manager = to_cortex_m(program, target_config=CortexMTargetConfig(cpu))
        linears = [n for n in manager.exported_program().graph.nodes if "quantized_linear" in str(n.target)]
        assert linears and all((n.args[3] is not None) == is_summed for n in linears)
        assert all((n.args[2] is not None) != is_summed for n in linears)


def test_images_that_are_not_channels_last_stay_in_floats(caplog: pytest.LogCaptureFixture) -> None:
    model, _ = model_of("conv net")
    inputs = (torch.randn(1, 3, 16, 16),)
    prepared = prepare_pt2e(
        torch.export.export(model.to(memory_format=torch.contiguous_format), inputs).module(), CortexMQuantizer()
    )
    prepared(*inputs)
    quantized = convert_pt2e(prepared)
    manager = to_cortex_m(torch.export.export(quantized, inputs))
    assert "channels_last" in caplog.text
    found = _operators(manager)
    assert "cortex_m::quantized_conv2d" not in found and found["cortex_m::quantized_linear"] == 1
    (result,) = Runtime.get().load_program(manager.to_executorch().buffer).load_method("forward").execute(list(inputs))
    assert (result - quantized(*inputs)).abs().max() <= 2.01 * _step(manager)


def test_what_the_manager_takes() -> None:
    with pytest.raises(ValueError, match="needs a real ExportedProgram, got None"):
        CortexMPassManager(None).transform()
    program = torch.export.export(nn.ReLU(), (torch.randn(2),))
    with pytest.raises(ValueError, match="pass classes, not instances"):
        CortexMPassManager(program, passes=[CortexMPassManager.pass_list[0]()]).transform()  # type: ignore[list-item]


def test_targets() -> None:
    assert CortexMTargetConfig.from_target_string("cortex-m0plus").cpu == CortexM.M0PLUS
    for cpu in CortexM:
        assert CortexMTargetConfig.from_target_string(CortexMTargetConfig(cpu).target_string).cpu == cpu
    with pytest.raises(ValueError, match="Unsupported Cortex-M target string: 'cortex-m9'"):
        CortexMTargetConfig.from_target_string("cortex-m9")
    with pytest.raises(ValueError, match="must start with 'cortex-m'"):
        CortexMTargetConfig.from_target_string("m4")
    best = CortexMTargetConfig(CortexM.M55).backend
    assert best.name == "MVE" and CortexMTargetConfig(CortexM.M4).backend.name == "DSP"
    with pytest.raises(ValueError, match="Backend MVE is not supported on M4"):
        CortexMTargetConfig(CortexM.M4, best)
