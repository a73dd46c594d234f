# SPDX-License-Identifier: BSD-3-Clause
"""A backend whose payload is text: one entry for every instruction.

<number of instructions>version:<version>#op:demo::<operator>, numel:<elements>, dtype:<dtype><debug_handle>N#...
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

from torch.export import ExportedProgram

from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec

_VERSION = 0
_OPERATORS = frozenset(
    {
        "aten.add.Tensor",
        "aten.linear.default",
        "aten.mm.default",
        "aten.mul.Tensor",
        "aten.scaled_dot_product_attention.default",
        "aten.sin.default",
        "aten.upsample_nearest2d.vec",
    }
)


class DemoOp(NamedTuple):
    """One instruction; `numel` and `dtype` are those of its result."""

    op: str
    numel: int
    dtype: str

    def __repr__(self) -> str:
        return f"op:demo::{self.op}, numel:{self.numel}, dtype:{self.dtype}"


@final
class BackendWithCompilerDemo(BackendDetails):
    """Compiles add, linear, mm, mul, scaled_dot_product_attention, sin and upsample_nearest2d. Debug handles are
    passed through: an instruction's identifier is the handle of its node."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        instructions: list[str] = []
        debug_handles: dict[int, tuple[int]] = {}
        for node in edge_program.graph.nodes:
            if node.op != "call_function":
                continue
            name = getattr(node.target, "__name__", str(node.target))
            if name not in _OPERATORS:
                raise RuntimeError(
                    f"{name} is not supported in backend BackendWithCompilerDemo; it supports "
                    f"{', '.join(sorted(_OPERATORS))}"
                )
            value: Any = node.meta["val"]
            handle = node.meta.get("debug_handle", -1)
            operation = DemoOp(name, math.prod(value.shape), str(value.dtype))
            instructions.append(f"{operation!r}<debug_handle>{handle}#")
            debug_handles[handle] = (handle,)
        payload = f"{len(instructions)}version:{_VERSION}#{''.join(instructions)}"
        return PreprocessResult(payload.encode(), debug_handles, _delegate_info_meta="test")
