# SPDX-License-Identifier: BSD-3-Clause
"""Prints the CPU time of cadence's kernels beside that of the quantized library's for the same work. From the root:

PYTHONPATH=tests/python/operators python kernels/cadence/bench/against_quantized.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from single_operator import OutputSpec, build

import sdk.backends.cadence.aot.ops_registrations
import sdk.kernels.quantized  # noqa: F401  (both register operators)
from sdk.runtime import Runtime

_ELEMENTS, _ROUNDS = 1 << 19, 60
Call = tuple[Any, dict[str, Any], torch.Tensor]


def seconds(calls: list[Call]) -> list[float]:
    """Returns the least CPU time of each call. The calls run in turns, so other load of the machine affects all."""
    methods = []
    for operator, arguments, output in calls:
        call = build(operator, arguments, [OutputSpec.like(output)])
        methods.append((Runtime.get().load_program(call.data).load_method("forward"), call.inputs))
    best = [float("inf")] * len(methods)
    for _ in range(_ROUNDS):
        for at, (method, inputs) in enumerate(methods):
            start = time.process_time()
            method.execute(inputs)
            best[at] = min(best[at], time.process_time() - start)
    return best


def pairs() -> Iterator[tuple[str, Call, Call]]:
    """Yields a name, the call of cadence's operator, and that of the quantized library's."""
    ours, theirs = torch.ops.cadence, torch.ops.quantized_decomposed
    torch.manual_seed(0)
    x, q = torch.randn(_ELEMENTS), torch.randint(-128, 128, (_ELEMENTS,), dtype=torch.int8)
    limits = {"scale": 0.05, "zero_point": 3, "quant_min": -128, "quant_max": 127, "dtype": torch.int8}
    arguments: dict[str, Any] = {"input": x, **limits}
    yield "quantize", (ours.quantize_per_tensor.out, arguments, q), (theirs.quantize_per_tensor.out, arguments, q)
    arguments = {"input": q, **limits}
    yield (
        "dequantize",
        (ours.dequantize_per_tensor.out, arguments, x),
        (theirs.dequantize_per_tensor.out, {**arguments, "out_dtype": None}, x),
    )
    a, b, result = (0.05, 3), (0.04, 1), (0.07, 2)
    add = dict(zip(("X_scale", "X_zero_point", "Y_scale", "Y_zero_point", "out_scale", "out_zero_point"),
                   (*a, *b, *result), strict=True))  # fmt: skip
    same: dict[str, Any] = {"a": q, "b": q.flip(0)}
    for name, (scale, zero) in (("a", a), ("b", b), ("out", result)):
        same |= {
            f"{name}_scale": scale,
            f"{name}_zero_point": zero,
            f"{name}_quant_min": -128,
            f"{name}_quant_max": 127,
        }
    yield "add", (ours.quantized_add.per_tensor_out, {"X": q, "Y": q.flip(0), **add}, q), (theirs.add.out, same, q)
    weight, rows = torch.randint(-128, 128, (4096, 64), dtype=torch.int8), torch.randint(0, 4096, (2048,))
    table = {"weight": weight, "weight_scales": torch.rand(4096, 1), "weight_zero_points": None, "indices": rows}
    yield (
        "embedding",
        (ours.quantized_embedding_byte.out, {**table, "pruned_weights": False}, torch.empty(2048, 64)),
        (
            theirs.embedding_byte.out,
            {**table, "weight_quant_min": -128, "weight_quant_max": 127},
            torch.empty(2048, 64),
        ),
    )


def main() -> None:
    """Prints a table in Markdown."""
    torch.set_num_threads(1)
    print("| operator | elements | cadence, us | quantized, us | cadence / quantized |\n|---|---|---|---|---|")
    for name, ours, theirs in pairs():
        mine, other = seconds([ours, theirs])
        count = ours[2].numel()
        print(f"| {name} | {count:,} | {mine * 1e6:.0f} | {other * 1e6:.0f} | {mine / other:.2f} |")


if __name__ == "__main__":
    main()
