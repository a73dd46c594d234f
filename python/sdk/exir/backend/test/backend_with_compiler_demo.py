# SPDX-License-Identifier: BSD-3-Clause
"""A backend whose payload is text: one entry for every instruction.

<number of instructions>version:<version>#op:demo::<operator>, numel:<elements>, dtype:<dtype><debug_handle>N#...

An entry ends its fields with `, args:<operands>`, separated by `;`, unless it only reads the result before it (the
first one: input 0). Operands: `i<n>` input n, `v<n>` result of instruction n, `w<key>:2x3` a weight in the named
data, `n<number>`, `l<number>/<number>` a list, `-` nothing. `out:v1;v0#` at the end lists the outputs, unless the last
result is the only one. The C++ side is runtime/executor/test/test_backend_compiler_lib.cpp.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple, final

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from sdk.exir._serialize._named_data_store import NamedDataStore, tensor_bytes
from sdk.exir.backend._messages import source_of
from sdk.exir.backend.backend_details import BackendDetails, PreprocessResult
from sdk.exir.backend.compile_spec_schema import CompileSpec
from sdk.exir.sym_util import eval_upper_bound

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
    """One instruction, with the `dtype` and the largest `numel` of its result."""

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
        operands = _Operands(edge_program)
        instructions: list[str] = []
        debug_handles: dict[int, tuple[int, ...]] = {}
        for node in edge_program.graph.nodes:
            if node.op != "call_function":
                continue
            name = getattr(node.target, "__name__", str(node.target))
            if name not in _OPERATORS:
                raise RuntimeError(
                    f"{name} is not supported in backend BackendWithCompilerDemo; it supports "
                    f"{', '.join(sorted(_OPERATORS))}{source_of(node)}"
                )
            value: Any = node.meta["val"]
            handle = node.meta.get("debug_handle", 0)
            operation = DemoOp(name, math.prod(map(eval_upper_bound, value.shape)), str(value.dtype))
            instructions.append(f"{operation!r}{operands.of(node, len(instructions))}<debug_handle>{handle}#")
            debug_handles[handle] = (handle,)
        payload = f"{len(instructions)}version:{_VERSION}#{''.join(instructions)}{operands.outputs()}"
        return PreprocessResult(
            payload.encode(), debug_handles, operands.store.get_named_data_store_output(), _delegate_info_meta="test"
        )


class _Operands:
    """The text of operands, and the weights among them as named data, by a hash of their bytes."""

    def __init__(self, program: ExportedProgram) -> None:
        self.store = NamedDataStore()
        self._program = program
        self._names: dict[Node, str] = {}
        specs = program.graph_signature.input_specs
        inputs = [s for s in specs if s.kind == InputKind.USER_INPUT]
        by_name = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        for i, spec in enumerate(inputs):
            self._names[by_name[spec.arg.name]] = f"i{i}"
        for spec in specs:
            if spec not in inputs and (node := by_name[spec.arg.name]).users:
                self._names[node] = self._weight(str(spec.target))
        for output in program.graph_signature.output_specs:
            if output.kind != OutputKind.USER_OUTPUT:
                raise RuntimeError(f"BackendWithCompilerDemo keeps no state, and {output.target} is written to")

    def of(self, node: Node, index: int) -> str:
        """The operands of instruction `index`; empty if they are the usual ones."""
        self._names[node] = f"v{index}"
        arguments = node.target._schema.arguments
        given = dict(zip((a.name for a in arguments), node.args, strict=False)) | dict(node.kwargs)
        values = [given.get(a.name, a.default_value) for a in arguments]
        while values and len(values) > len(given) and values[-1] == arguments[len(values) - 1].default_value:
            values.pop()
        texts = [self._text(value, node) for value in values]
        return "" if texts == [f"v{index - 1}" if index else "i0"] else f", args:{';'.join(texts)}"

    def outputs(self) -> str:
        """The closing list of outputs; empty if the last result is the only one."""
        names = [self._names.get(value) for value in self._program.graph.output_node().args[0]]
        if any(name is None or name[0] != "v" for name in names):
            raise RuntimeError("BackendWithCompilerDemo returns only what it computes, not inputs or weights")
        last = [name for name in self._names.values() if name[0] == "v"][-1:]
        return "" if names == last else f"out:{';'.join(map(str, names))}#"

    def _text(self, value: Any, node: Node) -> str:
        if isinstance(value, Node):
            self._check_dtype(value, node)
            return self._names[value]
        if isinstance(value, (list, tuple)) and all(isinstance(v, (int, float)) for v in value):
            return f"l{'/'.join(repr(float(v)) for v in value)}"
        if isinstance(value, (bool, int, float)):
            return f"n{float(value)!r}"
        if value is None:
            return "-"
        raise RuntimeError(
            f"BackendWithCompilerDemo takes tensors and numbers that are known ahead of time; {node.name} reads "
            f"{value!r}{source_of(node)}"
        )

    def _check_dtype(self, operand: Node, node: Node) -> None:
        found, wanted = operand.meta["val"], node.meta["val"].dtype
        if isinstance(found, torch.Tensor) and found.dtype != wanted:
            raise RuntimeError(
                f"BackendWithCompilerDemo computes in one dtype; {node.name} makes {wanted} of {found.dtype} "
                f"({operand.name}). Cast before{source_of(node)}"
            )

    def _weight(self, target: str) -> str:
        program = self._program
        tensor = program.state_dict[target] if target in program.state_dict else program.constants[target]
        key = hashlib.sha256(tensor_bytes(tensor)).hexdigest()[:16]
        self.store.add_named_data(key, tensor.contiguous())
        return f"w{key}:{'x'.join(map(str, tensor.shape))}"
