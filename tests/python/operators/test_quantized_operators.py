# SPDX-License-Identifier: BSD-3-Clause
"""The quantized kernels, compared with the operators that an export sees: PyTorch's quantized_decomposed and those that
sdk.kernels.quantized adds to it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from recorder import FUNCTIONS_YAML
from single_operator import OutputSpec, run

import sdk.kernels.quantized  # noqa: F401  (registers the operators)
from sdk.exir.operator.convert import to_out_variant

ops = torch.ops.quantized_decomposed
INT8 = (-128, 127, torch.int8)
UINT8 = (0, 255, torch.uint8)


def _x(*shape: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(shape) * 3


def _q(*shape: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    torch.manual_seed(1)
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max + 1, shape, dtype=dtype)


def _parameters(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    return torch.rand(shape) * 0.1 + 0.02, torch.randint(-5, 6, shape)


def _bounds(quantized: tuple[int, int, torch.dtype]) -> tuple[torch.Tensor, torch.Tensor, torch.dtype]:
    """quant_min and quant_max as tensors, and the dtype."""
    return torch.tensor(quantized[0]), torch.tensor([quantized[1]], dtype=torch.int32), quantized[2]


def _cases() -> list[tuple[Any, ...]]:
    scale, zero = torch.tensor(0.07), torch.tensor(-3)
    by_row, by_column = _parameters(3), _parameters(8)
    by_token = tuple(p.double() if p.is_floating_point() else p for p in _parameters(3, 1))
    by_group = _parameters(3, 2)
    indices = torch.tensor([[0, 4], [2, 1]])
    cases: list[tuple[Any, ...]] = []
    for quantized in (INT8, UINT8, (-8, 7, torch.int8), (-32768, 32767, torch.int16)):
        dtype = quantized[2]
        cases += [
            (ops.quantize_per_tensor.default, _x(3, 8), 0.07, 3, *quantized),
            (ops.quantize_per_tensor.tensor, _x(3, 8), scale, zero, *quantized),
            (ops.dequantize_per_tensor.default, _q(3, 8, dtype=dtype), 0.07, 3, *quantized),
            (ops.dequantize_per_tensor.tensor, _q(3, 8, dtype=dtype), scale, zero, *quantized),
            (ops.quantize_per_tensor.tensor2, _x(3, 8), scale, zero, *_bounds(quantized)),
            (ops.dequantize_per_tensor.tensor2, _q(3, 8, dtype=dtype), scale, zero, *_bounds(quantized)),
            (ops.fake_quant_per_channel.default, _x(3, 8), *by_row, 0, *quantized[:2]),
            (ops.fake_quant_per_channel.default, _x(2, 8, 3), *by_column, 1, *quantized[:2]),
            (ops.quantize_per_channel.default, _x(3, 8), *by_row, 0, *quantized),
            (ops.quantize_per_channel.default, _x(3, 8), *by_column, -1, *quantized),
            (ops.dequantize_per_channel.default, _q(3, 8, dtype=dtype), *by_row, 0, *quantized),
            (ops.dequantize_per_channel.default, _q(3, 8, dtype=dtype), by_column[0], None, 1, *quantized),
        ]
    for quantized in (INT8, UINT8, (-8, 7, torch.int8)):
        dtype = quantized[2]
        cases += [
            (ops.quantize_per_token.default, _x(3, 8), *by_token, *quantized),
            (ops.dequantize_per_token.default, _q(3, 8, dtype=dtype), *by_token, *quantized, torch.float32),
            (ops.quantize_per_channel_group.default, _x(3, 8), *by_group, *quantized, 4),
            (ops.quantize_per_channel_group.default, _x(3, 8), *_parameters(3, 1), *quantized, 32),
            (ops.dequantize_per_channel_group.default, _q(3, 8, dtype=dtype), *by_group, *quantized, 4, torch.float32),
            (
                ops.dequantize_per_channel_group.default,
                _q(3, 8, dtype=dtype),
                by_group[0],
                None,
                *quantized,
                4,
                torch.float32,
            ),
            (ops.choose_qparams.tensor, _x(3, 8), quantized[0], quantized[1], 1e-6, dtype),
            (ops.choose_qparams_symmetric.tensor, _x(3, 8), quantized[0], quantized[1], 1e-6, dtype),
        ]
    for x in (_x(3, 8), _x(2, 3, 5).half(), torch.zeros(2, 3)):
        cases.append((ops.choose_qparams_per_token.default, x, torch.int8))
    cases.append((ops.choose_qparams_per_token_asymmetric.default, _x(3, 8), torch.int8))
    for name, dtype in (
        ("embedding_byte", torch.int8),
        ("embedding_4bit", torch.uint8),
        ("embedding_2bit", torch.uint8),
    ):
        table = _q(5, 8, dtype=dtype)
        packet = getattr(ops, name)
        for scales, zeros in (_parameters(5), _parameters(5, 2), (_parameters(5)[0], None)):
            zeros = zeros if zeros is None else zeros.float()
            cases.append((packet.default, table, scales, zeros, -128, 127, indices))
            cases.append((packet.dtype, table, scales, zeros, -128, 127, indices, {"dtype": torch.float16}))
    special = torch.tensor([[float("nan"), float("inf"), -float("inf"), -0.0]])
    cases.append((ops.fake_quant_per_channel.default, special, *_parameters(4), 1, -8, 7))
    by_int32 = by_column[0].double(), by_column[1].int()
    cases.append((ops.fake_quant_per_channel.default, _x(3, 8), *by_int32, 1, -128, 127))
    images = _x(2, 3, 4, 5).to(memory_format=torch.channels_last)
    cases.append((ops.fake_quant_per_channel.default, images, *by_row, 1, -128, 127))
    for source, target in (
        (torch.float32, torch.bfloat16),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.int8),
        (torch.uint8, torch.float16),
        (torch.float32, torch.bool),
        (torch.int64, torch.int64),
    ):
        cases.append((ops.convert_element_type.no_fuse, _x(3, 8).abs().to(source), target))
    cases.append((ops.convert_element_type.no_fuse, images, torch.float64))
    summands = (_q(3, 8), 0.05, 2, -128, 127, _q(3, 8).flip(0), 0.1, -7, -128, 127)
    for parameters in ((0.2, 1, -128, 127), (0.05, -128, -128, 127), (0.02, 0, -8, 7)):
        cases.append((ops.add_relu.default, *summands, *parameters))
        cases.append((ops.add.scalar, _q(3, 8), 0.05, 2, -128, 127, torch.int8, 1.5, *parameters, torch.int8))
    cases.append((ops.add.scalar, _q(3, 8), 0.05, 2, -128, 127, torch.int8, -3, 0.1, 128, *UINT8))
    cases += [
        (ops.mixed_mm.default, _x(4, 3), _q(3, 8), by_row[0], None),
        (ops.mixed_mm.default, _x(4, 3), _q(3, 8), by_group[0], None),
        (ops.mixed_linear.default, _x(4, 8), _q(3, 8), by_row[0], None),
        (ops.mixed_linear.default, _x(4, 8), _q(3, 8), by_group[0], None, torch.float16),
        (ops.add.default, _q(3, 8), 0.05, 2, -128, 127, _q(3, 8), 0.1, -7, -128, 127, 0.2, 1, -128, 127),
    ]
    return cases


_CASES = _cases()


@pytest.mark.sampled
@pytest.mark.parametrize("case", range(len(_CASES)), ids=lambda i: f"{_CASES[i][0]}-{i}")
def test_kernels_give_what_the_registered_operators_give(case: int) -> None:
    operator, *args = _CASES[case]
    kwargs = args.pop() if isinstance(args[-1], dict) else {}
    expected = operator(*args, **kwargs)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    out, _ = to_out_variant(operator)
    names = [argument.name for argument in operator._schema.arguments]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    found = run(out, arguments, [OutputSpec.like(result) for result in expected])
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, check_stride=False, equal_nan=True)


def test_every_kernel_of_the_library_is_called() -> None:
    functions = (FUNCTIONS_YAML.parents[1] / "quantized" / "functions.yaml").read_text()
    kernels = {line.split("::")[1].split("(")[0] for line in functions.splitlines() if line.startswith("- func:")}
    called = {str(to_out_variant(case[0])[0]).removeprefix("quantized_decomposed.") for case in _CASES}
    assert kernels == called


def test_every_kernel_has_the_schema_that_exports_see() -> None:
    functions = (FUNCTIONS_YAML.parents[1] / "quantized" / "functions.yaml").read_text()
    for line in functions.splitlines():
        if line.startswith("- func:"):
            schema = torch._C.parse_schema(line.removeprefix("- func: "))
            registered = getattr(getattr(ops, schema.name.split("::")[1]), schema.overload_name)._schema
            assert [(a.name, str(a.type)) for a in registered.arguments] == [
                (a.name, str(a.type)) for a in schema.arguments
            ]


def test_export_traces_the_operators() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return ops.mixed_linear(x, _q(3, 8), _parameters(3)[0], None)

    program = torch.export.export(Model(), (_x(2, 8),))
    assert ops.mixed_linear.default in {node.target for node in program.graph.nodes}
