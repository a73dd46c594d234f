# SPDX-License-Identifier: BSD-3-Clause
"""Models for cadence that take and return integers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sdk.backends.cadence.aot import compiler
from sdk.backends.cadence.aot.compiler_funcs import (
    QuantizedInputWrapper,
    QuantizedOutputWrapper,
    extract_all_output_dequant_params,
    extract_input_quant_params_from_graph,
    extract_input_shapes_from_graph,
    extract_output_dequant_params,
    extract_output_dequant_params_through_permute,
    extract_quant_params_through_permute,
)
from sdk.backends.cadence.aot.pass_utils import count_node
from sdk.backends.cadence.aot.quantizer.quantizer import CadenceDefaultQuantizer

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:torchao.*")
_decomposed = torch.ops.quantized_decomposed


class _Image(nn.Module):
    """A convolution of an image with channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class _Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.first(x[:, :4]), self.second(x[:, 4:])


def _converted(model: nn.Module, x: Tensor) -> torch.fx.GraphModule:
    torch.manual_seed(0)
    return compiler.get_fake_quant_model(model, (x,), CadenceDefaultQuantizer())


def test_parameters_at_the_boundary() -> None:
    x = torch.randn(1, 6, 6, 3)
    module = _converted(_Image(), x)
    (name,) = (node.name for node in module.graph.find_nodes(op="placeholder"))
    assert extract_input_shapes_from_graph(module) == {0: (1, 6, 6, 3)}
    parameters = extract_input_quant_params_from_graph(module, [name])
    assert parameters == extract_quant_params_through_permute(module)
    scale, zero_point, *limits = parameters[0]
    assert limits == [-128, 127, torch.int8] and (-128 - zero_point) * scale <= x.min().item() + scale
    assert extract_output_dequant_params_through_permute(module)[2:] == (-128, 127, torch.int8)
    assert extract_all_output_dequant_params(module) == [None]
    with pytest.raises(ValueError, match="Could not find dequantize_per_tensor at the output"):
        extract_output_dequant_params(module)
    with pytest.raises(ValueError, match=r"for input\(s\): \['y'\]\. Expected names of nodes"):
        extract_input_quant_params_from_graph(module, ["y"])


def test_integers_in_and_out() -> None:
    x = torch.randn(3, 4)
    module = _converted(nn.Sequential(nn.Linear(4, 5)), x)
    expected = module(x)
    taken, given = extract_input_quant_params_from_graph(module, ["input_1"]), extract_output_dequant_params(module)
    integers = _decomposed.quantize_per_tensor.default(x, *taken[0])
    wrapper = QuantizedInputWrapper(module, ["input_1"])
    torch.testing.assert_close(wrapper(integers), expected)
    found = QuantizedOutputWrapper(QuantizedInputWrapper(module, {0: taken[0]}), given)(integers)
    assert found.dtype == torch.int8
    torch.testing.assert_close(_decomposed.dequantize_per_tensor.default(found, *given), expected)
    several = QuantizedOutputWrapper(lambda *_: (expected, expected), [None, given])(x)  # type: ignore[arg-type]
    assert [each.dtype for each in several] == [torch.float32, torch.int8]
    with pytest.raises(ValueError, match=r"Shape mismatch .* index 0: expected \(3, 4\), got \(2, 4\)"):
        wrapper(integers[:2])
    with pytest.raises(ValueError, match="index 0 differs from expected value: max_abs_diff"):
        QuantizedInputWrapper(module, ["input_1"], expected_inputs={0: x + 1})(integers)


def test_programs_take_integers() -> None:
    """The input is quantised by the caller, and each part has the parameters of its layer."""
    x = torch.randn(2, 8)
    torch.manual_seed(0)
    model = _Halves().eval()
    fake = compiler.get_fake_quant_model(model, (x,), CadenceDefaultQuantizer())
    quantize = _decomposed.quantize_per_tensor.default
    quantizes = fake.graph.find_nodes(op="call_function", target=quantize)
    parts = [each.args[0].name for each in quantizes if each.args[0].name.startswith("slice")]
    parameters = extract_input_quant_params_from_graph(fake, parts)
    assert len(parameters) == 2 and parameters[0] != parameters[1]
    program = compiler.quantize_pt2(model, (x,), quant_input_args=["x"])
    integers = torch.cat([quantize(half, *parameters[at]) for at, half in enumerate((x[:, :4], x[:, 4:]))], 1)
    expected = model(x)
    for found, wanted in zip(program.module()(integers), expected, strict=True):
        assert (found - wanted).abs().max() < 0.1
    assert count_node(program.graph_module, torch.ops.cadence.quantized_linear.per_tensor) == 2
