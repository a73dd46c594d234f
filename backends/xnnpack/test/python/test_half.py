# SPDX-License-Identifier: BSD-3-Clause
"""Models in half precision, lowered to XNNPACK.

Tolerance: PyTorch eager computes each operator in float32 and rounds the result to half, with a relative error of
2^-11; so does XNNPACK, in another order. After a few operators in sequence the errors add up: 2^-9 of the largest
result.
"""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from test_transformers import HEADS, PATTERNS, ROWS, Call
from torch import nn
from torch.export import export
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.utils import compute_error
from torchao.utils import unwrap_tensor_subclass

from sdk.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from sdk.exir import EdgeCompileConfig, EdgeProgramManager, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals
from sdk.runtime import Runtime
from zoo.vision import VisionTransformer

Inputs = tuple[torch.Tensor, ...]

IMAGE = torch.linspace(-2, 2, 2 * 8 * 12 * 12).mul(9).sin().reshape(2, 8, 12, 12)


def functions(x: torch.Tensor) -> torch.Tensor:
    root = (x.abs() + 0.5).log() + x.abs().sqrt() + (x.abs() + 1).rsqrt()
    return root + x.sin() + x.cos() + x.exp() * 0.01 + x.floor() + x.ceil() - (-x).tanh() + x.sigmoid()


def activations(x: torch.Tensor) -> torch.Tensor:
    smooth = F.hardswish(x) + F.elu(x) + F.gelu(x)
    return smooth + F.leaky_relu(x) + x.clamp(-1, 1) + F.relu6(x)


OPERATORS: dict[str, tuple[nn.Module, Inputs]] = {
    "linear": (nn.Sequential(nn.Linear(12, 8), nn.GELU(), nn.Linear(8, 4), nn.Softmax(-1)), (ROWS,)),
    "convolution": (nn.Conv2d(8, 16, 3, padding=1, groups=2), (IMAGE,)),
    "depthwise convolution": (nn.Conv2d(8, 8, 3, groups=8), (IMAGE,)),
    "transposed convolution": (nn.ConvTranspose2d(8, 4, 3, 2, 1), (IMAGE,)),
    "convolution of a line": (nn.Conv1d(5, 8, 3), (ROWS,)),
    "convolution and batch norm": (nn.Sequential(nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4), nn.ReLU6()), (IMAGE,)),
    "batch norm": (nn.BatchNorm2d(8), (IMAGE,)),
    "adaptive pool": (nn.AdaptiveAvgPool2d((1, 3)), (torch.linspace(-2, 2, 120).reshape(1, 4, 5, 6).sin(),)),
    "pools": (
        nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1), nn.AdaptiveAvgPool2d(1)),
        (IMAGE,),
    ),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGE,)),
    "prelu": (nn.PReLU(8), (IMAGE,)),
    "functions": (Call(functions), (ROWS,)),
    "activations": (Call(activations), (ROWS,)),
    "two operands": (Call(lambda x: torch.maximum(x, x * 2) / (x * x + 1) - torch.minimum(x, x.neg())), (ROWS,)),
    "numbers that float16 cannot represent": (Call(lambda x: (x * 1e-8 + x * 1e3 + 1e-7) * 1e-3), (ROWS,)),
    "cat and pad": (Call(lambda x: F.pad(torch.cat([x, x * 2], 1), (1, 2, 0, 1)) * 1.5), (IMAGE,)),
    "product": (Call(lambda x: torch.bmm(x, x.transpose(1, 2))), (ROWS,)),
    "norm in float32": (Call(lambda x: (x.float().square().mean(-1, keepdim=True) + 1e-6).rsqrt().half() * x), (ROWS,)),
    "truth of halves": (Call(lambda x, m: x.bool() & m), (ROWS.round(), ROWS > 0)),
    "integers to halves": (Call(lambda i, x: i.half() * x), (torch.arange(12), ROWS)),
    "truth to halves": (Call(lambda t, x: t.logical_not().half() * x), (ROWS > 0, ROWS)),
    **{name: PATTERNS[name] for name in PATTERNS if name not in ("embedding", "rows of a table")},
}


def in_half(model: nn.Module, inputs: Inputs) -> tuple[nn.Module, Inputs]:
    halves = tuple(x.half() if x.is_floating_point() else x for x in inputs)
    return copy.deepcopy(model).eval().half(), halves


def lower(model: nn.Module, inputs: Inputs, compat: str | None = None) -> EdgeProgramManager:
    return to_edge_transform_and_lower(export(model, inputs), partitioner=[XnnpackPartitioner(compat=compat)])


def check(lowered: EdgeProgramManager, model: nn.Module, inputs: Inputs) -> None:
    with torch.no_grad():
        wanted = model(*inputs)
    (found,) = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward").execute(inputs)
    largest = float(wanted.float().nan_to_num(0, 0, 0).abs().max())
    torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=2**-9, atol=2**-9 * largest, equal_nan=True)


@pytest.mark.sampled
@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_is_delegated_and_right(name: str) -> None:
    """XNN-05"""
    torch.manual_seed(0)
    model, inputs = in_half(*OPERATORS[name])
    lowered = lower(model, inputs)
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    check(lowered, model, inputs)


def test_roots_of_sums_of_squares() -> None:
    """A tensor that is added to squares may be -inf, whose power is inf and whose square root is not a number."""
    squares = Call(lambda x, y: (x * x + y * y) ** 0.5)
    inputs = (torch.tensor([3.0, 0.0, 1.0]), torch.tensor([4.0, -0.0, -torch.inf]))
    lowered = lower(*in_half(squares, inputs))
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    check(lowered, *in_half(squares, inputs))
    others, halves = in_half(Call(lambda x, y: (x * x + y) ** 0.5), inputs)
    assert others(*halves)[2] == torch.inf
    check(lower(others, halves), others, halves)


def test_a_transformer_is_one_delegate() -> None:
    torch.manual_seed(0)
    model, inputs = in_half(VisionTransformer(), (torch.randn(1, 3, 32, 32),))
    lowered = lower(model, inputs)
    assert [n for n in get_non_lowered_nodes(lowered.exported_program().graph) if "copy_" not in str(n.target)] == []
    check(lowered, model, inputs)


@pytest.mark.parametrize("granularity", [PerGroup(32), PerAxis(0)], ids=str)
def test_weights_of_four_bits(granularity: PerGroup | PerAxis) -> None:
    """XNN-11: float16 inputs are quantised per row; results of the int8 GEMM are converted back to float16. Scales per
    row are float16 in eager mode and float32 in the kernels; scales per group are bfloat16. The error is below 1 % of a
    result."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval().half()
    quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=granularity))
    unwrap_tensor_subclass(model)
    inputs = (torch.linspace(-4, 4, 6 * 64).mul(5).sin().reshape(6, 64).half(),)
    lowered = lower(model, inputs)
    assert get_non_lowered_nodes(lowered.exported_program().graph) == []
    (found,) = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward").execute(inputs)
    assert compute_error(model(*inputs).float(), torch.as_tensor(found).float()) > 40


def test_weights_take_half_of_the_bytes() -> None:
    """Weights of linear layers take half of the bytes; XNNPACK reads filters of convolutions as float32 only."""
    model, inputs = nn.Linear(12, 1000), (ROWS,)
    whole = len(lower(model, inputs).to_executorch().buffer)
    half = len(lower(*in_half(model, inputs)).to_executorch().buffer)
    assert whole - half > 12 * 1000 * 2 * 0.95


def refusals(model: nn.Module, inputs: Inputs, compat: str | None = None) -> dict[str, str | None]:
    left = get_non_lowered_nodes(lower(model, inputs, compat).exported_program().graph)
    return {node.target.__name__: get_refusals(node).get("XnnpackBackend") for node in left}


def test_what_stays_outside_says_why() -> None:
    table = nn.Embedding(5, 4).half()
    model = nn.Sequential(table, nn.Linear(4, 4).half())
    reasons = refusals(model, (torch.tensor([1, 3]),))
    assert reasons == {"aten.embedding.default": "aten_embedding_default is float16, and XNNPACK takes float32 or bool"}
    config = EdgeCompileConfig(_core_aten_ops_exception_list=[torch.ops.aten.native_layer_norm.default])
    program = export(nn.LayerNorm(12), (ROWS.half(),))
    mixed = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=config)
    (norm, *_) = get_non_lowered_nodes(mixed.exported_program().graph)
    assert get_refusals(norm)["XnnpackBackend"] == "it mixes float16 and float32"
    steps = refusals(nn.LayerNorm(12).half(), (ROWS.half(),), compat="1.4")
    assert steps["aten.native_layer_norm.default"] == "the original has no node for it in version 1.4"


def test_limits_that_no_half_lies_between() -> None:
    reasons = refusals(Call(lambda x: (x + x).clamp(0, 1e-9)), (HEADS.half(),))
    assert reasons["aten.clamp.default"] == "its limits 0.0 and 0.0 leave no range"
