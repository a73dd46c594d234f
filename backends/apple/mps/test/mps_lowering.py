# SPDX-License-Identifier: BSD-3-Clause
"""Lowers calls and models for MPS, and compares results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from mps_cases import Call, floats, integers
from mps_programs import edge_program
from torch.utils import _pytree as pytree

from sdk.backends.apple.mps import MPSBackend
from sdk.backends.apple.mps.partition import MPSPartitioner
from sdk.backends.apple.mps.verify.program import ReferenceProgram
from sdk.exir import EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.dialects._ops import ops

LIMITS = {False: 1e-5, True: 5e-3}
"""The relative differences that are allowed in float32 and float16."""


def specs(use_fp16: bool) -> list[CompileSpec]:
    return [CompileSpec("use_fp16", bytes([use_fp16]))]


def in_float32() -> MPSPartitioner:
    """The partitioner for the conformance suite, which compares with eager."""
    return MPSPartitioner(specs(use_fp16=False))


_programs: dict[int, tuple[Call, Any]] = {}
_payloads: dict[tuple[int, bool], bytes] = {}


def lower_call(call: Call, use_fp16: bool) -> bytes:
    """Returns the payload of a single call. Raises RuntimeError if MPS does not support it. The export of the call,
    which takes longest, is cached and used for both precisions, for the interpreter and for the delegate."""
    key = id(call), use_fp16
    if key not in _payloads:
        if id(call) not in _programs:
            _programs[id(call)] = call, edge_program(call, ops.edge)
        _payloads[key] = MPSBackend.preprocess(_programs[id(call)][1], specs(use_fp16)).processed_bytes
    return _payloads[key]


def lower(
    model: torch.nn.Module, inputs: Sequence[Any], use_fp16: bool = False, dynamic_shapes: Any = None
) -> EdgeProgramManager:
    program = torch.export.export(model.eval(), tuple(inputs), dynamic_shapes=dynamic_shapes, strict=False)
    return to_edge_transform_and_lower(program, partitioner=[MPSPartitioner(specs(use_fp16))])


def reference(manager: EdgeProgramManager, folder: Path) -> ReferenceProgram:
    """The program of a lowered model, after its `.pte` was written and read back."""
    file = folder / "model.pte"
    file.write_bytes(manager.to_executorch().buffer)
    return ReferenceProgram(file)


def difference(actual: Sequence[torch.Tensor], expected: Any) -> float:
    """The largest difference, relative to the largest magnitude of each output, or to 1 if that is smaller. Infinite
    where shapes, dtypes, infinities or NaNs differ."""
    wanted = [leaf for leaf in pytree.tree_leaves(expected) if isinstance(leaf, torch.Tensor)]
    assert len(actual) == len(wanted)
    worst = 0.0
    for have, want in zip(actual, wanted, strict=True):
        if have.shape != want.shape or have.dtype != want.dtype:
            return float("inf")
        have, want = have.detach().to(torch.float64), want.detach().to(torch.float64)
        finite = torch.isfinite(want)
        if not torch.equal(have[~finite].nan_to_num(0.5), want[~finite].nan_to_num(0.5)):
            return float("inf")
        if finite.any():
            error = (have[finite] - want[finite]).abs().max() / want[finite].abs().max().clamp(min=1.0)
            worst = max(worst, float(error.nan_to_num(float("inf"))))
    return worst


class QuantizedLinear(torch.nn.Module):
    """A linear layer with int4 weights in groups of 32 and activations quantised for each token."""

    def __init__(self, dynamic: bool) -> None:
        super().__init__()
        self.dynamic = dynamic
        self.register_buffer("weight", integers(48, 64, low=-8, high=8, dtype=torch.int8))
        self.register_buffer("scales", floats(48, 2, low=0.03125, high=0.5, seed=3))
        self.register_buffer("zeros", torch.zeros(48, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(self.quantized(x) if self.dynamic else x, self.dequantized())

    def quantized(self, x: torch.Tensor) -> torch.Tensor:
        """The activations, quantised and dequantised."""
        q = torch.ops.quantized_decomposed
        scale, zero = q.choose_qparams_per_token_asymmetric(x, torch.int8)
        given = q.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        return q.dequantize_per_token(given, scale, zero, -128, 127, torch.int8, torch.float32)

    def dequantized(self) -> torch.Tensor:
        """The weights."""
        return torch.ops.quantized_decomposed.dequantize_per_channel_group(
            self.weight, self.scales, self.zeros, -8, 7, torch.int8, 32, torch.float32
        )
