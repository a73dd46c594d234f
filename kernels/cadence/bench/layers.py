# SPDX-License-Identifier: BSD-3-Clause
"""Prints the instructions of cadence's layers beside those of this SDK's other kernels for the same work: of Cortex-M's
int8 library, of the quantized library, and of dequantize, ATen's operator and quantize. Valgrind counts them; with
"microseconds" as the second argument, the CPU time of 300 calls is measured instead. From the root, with the
executor_runner of a release build:

PYTHONPATH=tests/python/operators python kernels/cadence/bench/layers.py RUNNER
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from single_operator import OutputSpec, build
from torch import Tensor

import sdk.backends.cadence.aot.ops_registrations
import sdk.backends.cortex_m.ops.operators
import sdk.kernels.quantized  # noqa: F401  (all three register operators)

_CADENCE, _CORTEX_M, _QUANTIZED = (getattr(torch.ops, name) for name in ("cadence", "cortex_m", "quantized_decomposed"))
_LIMITS = {"scale": 0.05, "zero_point": 3, "quant_min": -128, "quant_max": 127, "dtype": torch.int8}
_ONE = torch.ones(1, dtype=torch.int32)
_MULTIPLIER, _SHIFT = 1 << 30, -8
_CALLS = 300


@dataclass
class Call:
    """A call of an out variant, with tensors of the shapes and dtypes of its results."""

    operator: Any
    arguments: dict[str, Any]
    results: list[Tensor]


def int8(*shape: int) -> Tensor:
    """Returns random integers."""
    return torch.randint(-128, 128, shape, dtype=torch.int8)


def _between(operator: Any, arguments: dict[str, Any], inputs: list[Tensor], results: list[Tensor]) -> list[Call]:
    """Returns dequantize of int8 inputs, the call on floats, and quantize of the first result."""
    calls = [
        Call(_QUANTIZED.dequantize_per_tensor.out, {"input": each.to(torch.int8), **_LIMITS, "out_dtype": None}, [each])
        for each in inputs
    ]
    first = results[0]
    rounded = Call(_QUANTIZED.quantize_per_tensor.out, {"input": first, **_LIMITS}, [first.to(torch.int8)])
    return [*calls, Call(operator, arguments, results), rounded]


def linear() -> Iterator[tuple[str, Call, str, list[Call]]]:
    """Yields a layer of 256 inputs and 256 outputs, for 32 rows."""
    x, weight, bias, result = int8(32, 256), int8(256, 256), torch.ones(256, dtype=torch.int32), int8(32, 256)
    numbers = {"src_zero_point": 3, "weight_zero_point": 0, "out_zero_point": 1, "offset": None}
    ours = {"src": x, "weight": weight, "bias": bias, "out_multiplier": _MULTIPLIER, "out_shift": _SHIFT, **numbers}
    call = Call(_CADENCE.quantized_linear.per_tensor_out, ours, [result])
    theirs = {
        "input": x, "weights": weight, "bias": bias, "kernel_sum": None, "input_offset": -3, "filter_offset": 0,
        "output_offset": 1, "requantize_multipliers": [_MULTIPLIER], "requantize_shifts": [_SHIFT],
        "activation_max": 127, "activation_min": -128,
    }  # fmt: skip
    yield "linear", call, "Cortex-M's", [Call(_CORTEX_M.quantized_linear.out, theirs, [result])]
    mixed = {"input": x.float(), "weight": weight, "weight_scales": torch.rand(256), "weight_zero_points": None}
    yield "linear", call, "mixed_linear", [Call(_QUANTIZED.mixed_linear.out, mixed, [result.float()])]
    real = {"input": x.float(), "weight": weight.float(), "bias": bias.float()}
    yield "linear", call, "q/dq", _between(torch.ops.aten.linear.out, real, [x.float()], [result.float()])


def matmul() -> Iterator[tuple[str, Call, str, list[Call]]]:
    """Yields four 64 x 64 matrix multiplications, with the second operand plain and transposed."""
    x, y, result = int8(4, 64, 64), int8(4, 64, 64), int8(4, 64, 64)
    floats = result.float()
    for transposed in (False, True):
        ours = {
            "X": x, "X_zero_point": 3, "Y": y, "Y_zero_point": -2, "bias": None, "out_multiplier": _MULTIPLIER,
            "out_shift": _SHIFT, "out_zero_point": 1, "transposed": transposed,
        }  # fmt: skip
        call = Call(_CADENCE.quantized_matmul.out, ours, [result])
        if transposed:
            theirs = {
                "lhs": x, "lhs_zero_point": -3, "rhs_transposed": y, "rhs_zero_point": 2, "output_zero_point": 1,
                "output_multiplier": _MULTIPLIER, "output_shift": _SHIFT, "scratch": _ONE,
            }  # fmt: skip
            other = [Call(_CORTEX_M.quantized_batch_matmul.out, theirs, [result])]
            yield "matmul, transposed", call, "Cortex-M's", other
            continue
        mixed = {"input": floats[0], "weight": y[0], "weight_scales": torch.rand(64), "weight_zero_points": None}
        one = Call(_QUANTIZED.mixed_mm.out, mixed, [floats[0]])
        yield "matmul", call, "mixed_mm", [one] * 4
        both = {"self": floats, "mat2": floats}
        yield "matmul", call, "q/dq", _between(torch.ops.aten.bmm.out, both, [floats, floats], [floats])


def convolutions() -> Iterator[tuple[str, Call, str, list[Call]]]:
    """Yields convolutions of images of 28 x 28, channels first and last."""
    sizes = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1]}
    numbers = {
        "input_zero_point": 3, "weight_zero_point": 0, "bias_scale": 0.001, "out_scale": 0.05, "out_zero_point": 1,
        "out_multiplier": 0, "out_shift": 0,
    }  # fmt: skip
    cases = [("3x3", 16, 32, 3, 1), ("1x1", 32, 64, 1, 1), ("depthwise 3x3", 32, 32, 3, 32)]
    for name, channels, outputs, kernel, groups in cases:
        places = {**sizes, "padding": [kernel // 2] * 2}
        weight, bias = int8(outputs, channels // groups, kernel, kernel), torch.ones(outputs, dtype=torch.int32)
        result = int8(1, outputs, 28, 28)
        for last in (False, True):
            x = int8(1, 28, 28, channels) if last else int8(1, channels, 28, 28)
            found = result.permute(0, 2, 3, 1).contiguous() if last else result
            filters = weight.permute(0, 2, 3, 1).contiguous() if last else weight
            kind = _CADENCE.quantized_conv2d_nhwc if last else _CADENCE.quantized_conv2d_nchw
            ours = {"input": x, "weight": filters, "bias": bias, **places, "groups": groups, **numbers}
            call = Call(kind.per_tensor_out, ours, [found])
            label = f"convolution {name}, channels {'last' if last else 'first'}"
            yield label, call, "Cortex-M's", [_cortex_m_convolution(weight, bias, channels, groups, places, result)]
            if last:
                continue
            real = {
                "input": x.float(), "weight": weight.float(), "bias": bias.float(), **places, "transposed": False,
                "output_padding": [0, 0], "groups": groups,
            }  # fmt: skip
            convolution = torch.ops.aten.convolution.out
            yield label, call, "q/dq", _between(convolution, real, [x.float()], [result.float()])


def _cortex_m_convolution(weight: Tensor, bias: Tensor, channels: int, groups: int, places: dict[str, Any],
                          result: Tensor) -> Call:  # fmt: skip
    outputs = weight.size(0)
    theirs = {
        "input": int8(1, channels, 28, 28).contiguous(memory_format=torch.channels_last),
        "weight": weight.permute(*((1, 2, 3, 0) if groups > 1 else (0, 2, 3, 1))).contiguous(),
        "bias": bias, **places, "input_offset": -3, "output_offset": 1, "scratch": _ONE,
        "requantize_multipliers": torch.full((outputs,), _MULTIPLIER, dtype=torch.int32),
        "requantize_shifts": torch.full((outputs,), _SHIFT, dtype=torch.int32),
        "activation_min": -128, "activation_max": 127, "depth_multiplier": 1,
    }  # fmt: skip
    kind = _CORTEX_M.quantized_depthwise_conv2d if groups > 1 else _CORTEX_M.quantized_conv2d
    return Call(kind.out, theirs, [result.contiguous(memory_format=torch.channels_last)])


def normalisations() -> Iterator[tuple[str, Call, str, list[Call]]]:
    """Yields softmax and layer norm of 64 rows of 256."""
    x = int8(64, 256)
    floats, rows, weight = x.float(), torch.rand(64, 1), torch.rand(256)
    ours = {
        "input": x, "mask": _ONE, "dim": 1, "mask_type": 0, "pos": _ONE, "in_scale": 0.05, "in_zero_point": 3,
        "out_scale": 1 / 256, "out_zero_point": -128,
    }  # fmt: skip
    call = Call(_CADENCE.quantized_softmax.per_tensor_out, ours, [x])
    theirs = {
        "input": x, "dim": 1, "input_zero_point": 3, "output_zero_point": -128, "input_multiplier": 1 << 30,
        "input_shift": 21, "diff_min": -(1 << 30),
    }  # fmt: skip
    yield "softmax", call, "Cortex-M's", [Call(_CORTEX_M.softmax.out, theirs, [x])]
    real: dict[str, Any] = {"self": floats, "dim": 1, "half_to_float": False}
    yield "softmax", call, "q/dq", _between(torch.ops.aten._softmax.out, real, [floats], [floats])
    ours = {
        "X": x, "X_scale": 0.05, "X_zero_point": 3, "normalized_shape": [256], "weight": weight, "bias": weight,
        "eps": 1e-5, "output_scale": 0.05, "output_zero_point": 1,
    }  # fmt: skip
    call = Call(_CADENCE.quantized_layer_norm.per_tensor_out, ours, [x])
    real = {"input": floats, "normalized_shape": [256], "weight": weight, "bias": weight, "eps": 1e-5}
    norm = torch.ops.aten.native_layer_norm.out
    yield "layer norm", call, "q/dq", _between(norm, real, [floats], [floats, rows, rows])


class Runs:
    """Processes of `executor_runner` that call one operator."""

    def __init__(self, call: Call, runner: str, folder: Path) -> None:
        names = {argument.name for argument in call.operator._schema.arguments}
        arguments = {name: value for name, value in call.arguments.items() if name in names}
        program = build(call.operator, arguments, [OutputSpec.like(each) for each in call.results])
        (folder / "call.pte").write_bytes(program.data)
        files = []
        for at, tensor in enumerate(program.inputs):
            files.append(str(folder / f"input-{at}.bin"))
            in_memory = tensor.permute(0, 2, 3, 1) if not tensor.is_contiguous() else tensor
            Path(files[-1]).write_bytes(in_memory.contiguous().numpy().tobytes())
        self.command = [
            runner, "--model_path", str(folder / "call.pte"), "--inputs", ",".join(files), "--noprint_output"
        ]  # fmt: skip

    def _run(self, times: int, *before: str) -> str:
        command = [*before, *self.command, "--num_executions", str(times)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
        return done.stderr

    def instructions(self) -> float:
        """Returns half of the difference between a process that makes three calls and one that makes one."""
        counts = []
        for times in (1, 3):
            report = self._run(times, "valgrind", "--tool=cachegrind", "--cache-sim=no",
                               "--cachegrind-out-file=/dev/null")  # fmt: skip
            found = re.search(r"I\s+refs:\s+([\d,]+)", report)
            if found is None:
                raise SystemExit(report[-2000:])
            counts.append(int(found[1].replace(",", "")))
        return (counts[1] - counts[0]) / 2

    def microseconds(self) -> float:
        """Returns the least CPU time of a call in three processes."""
        few, many = (min(self._seconds(times) for _ in range(3)) for times in (1, _CALLS + 1))
        return (many - few) / _CALLS * 1e6

    def _seconds(self, times: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._run(times)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(runner: str, unit: str = "instructions") -> None:
    """Prints a table in Markdown."""
    torch.manual_seed(0)
    print(f"| layer | cadence, {unit} | beside | {unit} | cadence / other |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for cases in (linear, matmul, convolutions, normalisations):
            for name, ours, beside, others in cases():
                mine, *other = (getattr(Runs(each, runner, Path(folder)), unit)() for each in (ours, *others))
                print(f"| {name} | {mine:,.0f} | {beside} | {sum(other):,.0f} | {mine / sum(other):.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
