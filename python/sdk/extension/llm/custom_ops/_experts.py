# SPDX-License-Identifier: BSD-3-Clause
"""`llama::quantized_moe_ffn` of ExecuTorch 1.5: a mixture of experts whose weights are torchao's packed bytes, which
`kernels/llm/cpu/torchao_weights.h` describes."""

from __future__ import annotations

import struct

import torch
import torch.nn.functional as F
from torch import Tensor

_OP = "quantized_moe_ffn"
_HEADER = struct.Struct("<8i32x")
_MAGIC, _UNIVERSAL = 6712, 1
_ROWS, _COLUMNS, _PARTS = 8, 16, 2
"""The rows and columns of a block of weights, and the parts of its columns."""

ARGUMENTS = (
    "Tensor x, Tensor gate_weight, Tensor expert_bias, Tensor packed_w13, Tensor packed_w2, int num_activated_experts, "
    "int num_experts, int hidden_dim, int dim, int group_size, int weight_nbit, str score_func, float route_scale"
)


def quantized_moe_ffn_meta(
    x: Tensor,
    gate_weight: Tensor,
    expert_bias: Tensor,
    packed_w13: Tensor,
    packed_w2: Tensor,
    num_activated_experts: int,
    num_experts: int,
    hidden_dim: int,
    dim: int,
    group_size: int,
    weight_nbit: int,
    score_func: str,
    route_scale: float,
) -> Tensor:
    """Checks the arguments; returns a result without values."""
    expected: dict[str, tuple[Tensor, tuple[int, ...]]] = {
        "x": (x, (x.shape[0] if x.dim() else 0, dim)),
        "gate_weight": (gate_weight, (num_experts, dim)),
    }
    if expert_bias.numel():
        expected["expert_bias"] = (expert_bias, (num_experts,))
    for name, (tensor, shape) in expected.items():
        if tensor.dtype != torch.float32 or len(tensor.shape) != len(shape) or tuple(tensor.shape) != shape:
            raise ValueError(
                f"{_OP}: {name} must be float32 of the shape {list(shape)}, found {tensor.dtype} of "
                f"{list(tensor.shape)}"
            )
    for name, tensor in (("packed_w13", packed_w13), ("packed_w2", packed_w2)):
        if tensor.dtype != torch.uint8 or tensor.dim() != 2 or tensor.shape[0] != num_experts:
            raise ValueError(
                f"{_OP}: {name} must be uint8 with a row for each of {num_experts} experts, found {tensor.dtype} of "
                f"{list(tensor.shape)}"
            )
    if not 0 < num_activated_experts <= num_experts:
        raise ValueError(f"{_OP}: num_activated_experts is {num_activated_experts}, with {num_experts} experts")
    if score_func not in ("sigmoid", "softmax"):
        raise ValueError(f"{_OP}: score_func must be 'sigmoid' or 'softmax', found {score_func!r}")
    if score_func == "softmax" and expert_bias.numel():
        raise ValueError(f"{_OP}: expert_bias needs score_func='sigmoid': with 'softmax', ExecuTorch has no bias")
    if weight_nbit not in (4, 8):
        raise ValueError(f"{_OP}: weights have 4 or 8 bits, found {weight_nbit}")
    if hidden_dim <= 0 or dim <= 0:
        raise ValueError(f"{_OP}: hidden_dim is {hidden_dim} and dim is {dim}; both must be at least 1")
    if group_size <= 0 or group_size % _COLUMNS or dim % group_size or hidden_dim % group_size:
        raise ValueError(
            f"{_OP}: group_size must be a multiple of {_COLUMNS} that divides dim ({dim}) and hidden_dim "
            f"({hidden_dim}), found {group_size}"
        )
    return x.new_empty((x.shape[0], dim))


def quantized_moe_ffn(
    x: Tensor,
    gate_weight: Tensor,
    expert_bias: Tensor,
    packed_w13: Tensor,
    packed_w2: Tensor,
    num_activated_experts: int,
    num_experts: int,
    hidden_dim: int,
    dim: int,
    group_size: int,
    weight_nbit: int,
    score_func: str,
    route_scale: float,
) -> Tensor:
    """For each row of `x` (tokens, dim), the sum of w2(silu(w1 x) * w3 x) over the experts with the largest scores.

    `packed_w13` has for each expert the bytes of w1 and, below it, w3; `packed_w2` those of w2 (dim, hidden_dim). With
    "sigmoid", an expert is chosen by its score, the sigmoid of `gate_weight` times x, and the bias, which may be empty;
    the weights are the scores, divided by their sum and multiplied by `route_scale`. With "softmax", there is no bias,
    and the weights are the softmax of the chosen scores.
    """
    out = quantized_moe_ffn_meta(
        x, gate_weight, expert_bias, packed_w13, packed_w2, num_activated_experts, num_experts, hidden_dim, dim,
        group_size, weight_nbit, score_func, route_scale,
    ).zero_()  # fmt: skip
    scores = x @ gate_weight.t()
    if score_func == "sigmoid":
        scores = scores.sigmoid()
        chosen = (scores + expert_bias if expert_bias.numel() else scores).topk(num_activated_experts).indices
        weights = scores.gather(1, chosen)
        weights = weights * (route_scale / (weights.sum(1, keepdim=True) + 1e-20))
    else:
        weights, chosen = scores.topk(num_activated_experts)
        weights = weights.softmax(1)
    for expert in chosen.unique().tolist():
        w13 = unpacked(packed_w13[expert], 2 * hidden_dim, dim, group_size, weight_nbit)
        w2 = unpacked(packed_w2[expert], dim, hidden_dim, group_size, weight_nbit)
        tokens, places = torch.where(chosen == expert)
        gate, up = (x[tokens] @ w13.t()).chunk(2, dim=1)
        out[tokens] += weights[tokens, places].unsqueeze(1) * ((F.silu(gate) * up) @ w2.t())
    return out


def unpacked(packed: Tensor, rows: int, columns: int, group: int, bits: int) -> Tensor:
    """float32 [rows, columns] from torchao's bytes. Raises ValueError for bytes of another layout or size."""
    if packed.numel() < _HEADER.size:
        raise ValueError(f"{_OP}: an expert has {packed.numel()} bytes; the header alone has {_HEADER.size}")
    fields = _HEADER.unpack(bytes(packed[: _HEADER.size].tolist()))
    if fields != (_MAGIC, _UNIVERSAL, bits, 0, 0, _ROWS, _COLUMNS, _PARTS):
        raise ValueError(
            f"{_OP}: an expert must have torchao's weights of {bits} bits without zero points and bias; found the "
            f"numbers {fields}"
        )
    tiles, groups = -(-rows // _ROWS), columns // group
    weight_bytes, numbers = group * _ROWS * bits // 8, 4 * _ROWS
    group_bytes = weight_bytes + 2 * numbers
    needed = _HEADER.size + tiles * groups * group_bytes
    if packed.numel() < needed:
        raise ValueError(
            f"{_OP}: an expert has {packed.numel()} bytes; {rows} x {columns} weights in groups of {group} "
            f"need {needed}"
        )
    content = packed[_HEADER.size : needed].reshape(tiles, groups, group_bytes)
    stored = content[..., :weight_bytes].contiguous()
    if bits == 8:
        q = stored.view(torch.int8)
    else:
        pairs = stored.reshape(tiles, groups, -1, _COLUMNS)
        q = torch.stack([pairs & 15, pairs >> 4], dim=3).to(torch.int8) - 8
    # The blocks of a group have the parts of the columns, and these the rows.
    q = q.reshape(tiles, groups, group // _COLUMNS, _PARTS, _ROWS, _COLUMNS // _PARTS)
    q = q.permute(0, 4, 1, 2, 3, 5).reshape(tiles * _ROWS, groups, group)
    scales = content[..., weight_bytes : weight_bytes + numbers].contiguous().view(torch.float32)
    scales = scales.permute(0, 2, 1).reshape(tiles * _ROWS, groups, 1)
    return (q.float() * scales).reshape(tiles * _ROWS, columns)[:rows]
