# SPDX-License-Identifier: BSD-3-Clause
"""Embeddings whose tables are quantised, by torchao's `quantize_` or by PT2E, as the operators
`quantized_decomposed.embedding_{byte,4bit,2bit}`: rows are dequantised as they are read, so the table stays
quantised. Otherwise the whole table would be stored as float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from sdk.exir.graph.constants import add_constant, constant_of, drop_unused
from sdk.exir.graph.programs import assemble, copy_graph_module, copy_signature

_EMBEDDING = "aten.embedding.default"
_AFFINE = "torchao.dequantize_affine.default"
_BY_ROW = "quantized_decomposed.dequantize_per_channel.default"
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_OPERATORS = {8: "embedding_byte", 4: "embedding_4bit", 2: "embedding_2bit"}


@dataclass(frozen=True)
class _Table:
    """The arguments of the operator.

    Attributes:
        values: [rows, bytes]: int8 or uint8; values of 4 and 2 bits are packed in uint8.
        scales: float32, [rows] or [rows, groups].
        zeros: The zero points, in the form of `scales`; None if all are 0.
        limits: The smallest and largest integer.
    """

    values: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor | None
    limits: tuple[int, int]
    bits: int


def keep_quantized_embeddings(program: ExportedProgram) -> ExportedProgram:
    """Returns a copy of `program` in which such an operator replaces each embedding of a dequantised constant, or
    `program` itself if it has none. The results are the same. Tables for which there is no kernel stay unchanged."""
    names = [(node, str(node.target)) for node in program.graph.nodes if node.op == "call_function"]
    found = [node for node, name in names if name == _EMBEDDING and _table_of(program, node.args[0]) is not None]
    if not found:
        return program
    import sdk.exir.operator.quantized_ops  # noqa: F401  (registers the operators)

    copied = assemble(program, copy_graph_module(program.graph_module), copy_signature(program.graph_signature))
    by_name = {node.name: node for node in copied.graph.nodes}
    for number, node in enumerate(found):
        table = _table_of(program, node.args[0])
        assert table is not None
        _replace(copied, by_name[node.name], table, f"quantized_embedding_{number}")
    copied.graph_module.graph.eliminate_dead_code()
    drop_unused(copied)
    copied.graph_module.recompile()
    return copied


def _table_of(program: ExportedProgram, node: Any) -> _Table | None:
    name = str(getattr(node, "target", ""))
    if name not in (_AFFINE, _BY_ROW) or node.meta["val"].dtype not in _FLOATS:
        return None
    values, scales = (constant_of(program, node.args[position]) for position in ((0, 2) if name == _AFFINE else (0, 1)))
    zeros_at = node.args[3 if name == _AFFINE else 2]
    zeros = None if zeros_at is None else constant_of(program, zeros_at)
    if values is None or scales is None or (zeros is None and zeros_at is not None):
        return None
    if values.dim() != 2 or values.dtype not in (torch.int8, torch.uint8) or scales.dtype not in _FLOATS:
        return None
    if zeros is not None and node.meta["val"].dtype != torch.float32 and not _are_bytes(zeros):
        return None  # PyTorch rounds the difference to such a zero point; the kernel does not.
    rows, width = values.shape
    groups = scales.numel() // rows
    if name == _AFFINE:
        block = list(node.args[1])
        if block[0] != 1 or width % block[1] or groups != width // block[1]:
            return None
        low, high = (*node.args[5:7], None, None)[:2]
    else:
        low, high = node.args[4:6]
        if node.args[3] % 2 != 0 or groups != 1:
            return None
    whole = torch.iinfo(values.dtype)
    low, high = whole.min if low is None else int(low), whole.max if high is None else int(high)
    shape = (rows,) if groups == 1 else (rows, groups)
    if zeros is not None:
        zeros = zeros.float().expand(rows) if zeros.numel() == 1 else zeros.float()
        zeros = zeros.reshape(shape) if bool(zeros.any()) else None
    bits = _bits(values.dtype, low, high, width)
    return _Table(_packed(values, bits), scales.detach().float().reshape(shape), zeros, (low, high), bits)


def _are_bytes(zeros: torch.Tensor) -> bool:
    """Whether zero points are integers of 8 bits, whose differences are exact in every floating-point dtype."""
    values = zeros.float()
    return bool(((values == values.round()) & (values >= -128) & (values <= 255)).all())


def _bits(dtype: torch.dtype, low: int, high: int, width: int) -> int:
    """The smallest number of bits that holds the integers and fills whole bytes of a row; 8 for uint8."""
    for bits in (2, 4):
        if dtype == torch.int8 and low >= -(1 << bits - 1) and high < 1 << bits - 1 and width % (8 // bits) == 0:
            return bits
    return 8


def _packed(values: torch.Tensor, bits: int) -> torch.Tensor:
    """Packs the integers, offset to be unsigned: the first of two values in a byte is in the high bits, the first of
    four in the low bits."""
    if bits == 8:
        return values.detach().contiguous()
    unsigned = (values + (1 << bits - 1)).to(torch.uint8)
    shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
    packed = torch.zeros(values.shape[0], values.shape[1] * bits // 8, dtype=torch.uint8)
    for position, shift in enumerate(shifts):
        packed |= unsigned[:, position :: len(shifts)] << shift
    return packed


def _replace(program: ExportedProgram, node: Node, table: _Table, name: str) -> None:
    mode = node.meta["val"].fake_mode
    nodes: list[Node | None] = []
    for part in ("values", "scales", "zeros"):
        tensor = getattr(table, part)
        nodes.append(None if tensor is None else add_constant(program, mode, f"{name}_{part}", tensor))
    graph = program.graph_module.graph
    operator: Callable[..., Any] = getattr(torch.ops.quantized_decomposed, _OPERATORS[table.bits]).dtype
    with graph.inserting_before(node):
        arguments = (*nodes, *table.limits, node.args[1])
        row = graph.call_function(operator, arguments, {"dtype": node.meta["val"].dtype})
    row.meta = dict(node.meta)
    node.replace_all_uses_with(row)
    graph.erase_node(node)
