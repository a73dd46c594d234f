# SPDX-License-Identifier: BSD-3-Clause
"""Operators of the format that the partitioner leaves to kernels, against their definitions in PyTorch.

Payloads of the original call them; here the partitioner delegates them as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed
from device_program import DeviceProgram
from hand_built import numbers
from torch import nn

pytest.importorskip("torchao")
import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401 - registers torchao's operators

import sdk.backends.vulkan.custom_ops_lib
import sdk.extension.llm.custom_ops.custom_ops  # noqa: F401 - registers llama's operators
from sdk.backends.vulkan import operators
from sdk.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from sdk.exir import EdgeCompileConfig, to_edge_transform_and_lower
from sdk.exir.backend.utils import get_non_lowered_nodes, get_refusals

VK = torch.ops.et_vk
QD = torch.ops.quantized_decomposed


@pytest.fixture(autouse=True)
def everything_is_delegated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators.VulkanOperator, "refusal", lambda _, *call: operators._unstored(*call))


class Call(nn.Module):
    """Calls function(*inputs, **buffers)."""

    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **dict(self.named_buffers()))


def lower(module: nn.Module, inputs: tuple[Any, ...], dynamic: Any = None, half: bool = False) -> DeviceProgram:
    exported = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(
        exported,
        partitioner=[VulkanPartitioner({"force_fp16": half})],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    left = [node for node in get_non_lowered_nodes(edge.exported_program().graph) if "getitem" not in node.name]
    assert not left, [(node, get_refusals(node)) for node in left]
    return DeviceProgram(edge.to_executorch().buffer)


def check(
    module: nn.Module,
    *cases: tuple[Any, ...],
    dynamic: Any = None,
    half: bool = False,
    tolerance: float = 1e-4,
    expect: Callable[..., Any] | None = None,
) -> None:
    """Lowers the module for the first inputs and runs it on all, and on the first again."""
    program = lower(module, cases[0], dynamic, half)
    for inputs in (*cases, cases[0]):
        # Integers differ by at most the tolerance.
        expected = (expect or module)(*inputs)
        first = expected if isinstance(expected, torch.Tensor) else expected[0]
        program.check(inputs, expected, tolerance if first.is_floating_point() else 0.0, tolerance)


def integers(low: int, high: int, *sizes: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    return torch.randint(low, high + 1, sizes, dtype=dtype, generator=torch.Generator().manual_seed(sum(sizes)))


# Rows, inputs, outputs and the size of a group: around vectors of 4, and padded outputs.
SIZES = [(1, 64, 32, 32), (5, 32, 7, 16), (2, 96, 12, 32), (3, 128, 33, 64), (9, 30, 5, 30)]


def bytes_of(rows: int, columns: int) -> torch.Tensor:
    return integers(0, 255, rows, columns, dtype=torch.uint8)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize("biased", [False, True], ids=["plain", "bias"])
def test_linear_q4gsw(biased, half):
    """4-bit weights with scales of groups, which may be padded."""
    for m, k, n, group in SIZES:
        module = Call(
            lambda x, w, s, b, group=group: VK.linear_q4gsw(x, w, s, group, b if biased else None),
            w=bytes_of(n, k // 2),
            s=numbers(k // group, (n + 7) // 8 * 8).abs().half().float() * 0.0625,
            b=numbers(n),
        )
        check(module, (numbers(m, k).half().float(),), half=half, tolerance=3e-2 if half else 1e-4)


def test_linear_q4gsw_of_other_rows():
    rows = torch.export.Dim("rows", min=1, max=9)
    module = Call(lambda x, w, s: VK.linear_q4gsw(x, w, s, 16), w=bytes_of(7, 16), s=numbers(2, 8).abs() * 0.05)
    check(module, *((numbers(2, m, 32),) for m in (5, 1, 9, 2)), dynamic=(({1: rows},),))


def test_linear_qcs4w():
    """The bytes hold the weights plus 8, so that the program computes with (nibble - 8) * scale."""
    for m, k, n in [(1, 64, 32), (5, 31, 7), (2, 6, 13)]:
        module = Call(VK.linear_qcs4w, weight=bytes_of(n, (k + 1) // 2), scales=numbers(n).abs() * 0.1)
        check(module, (numbers(m, k),), (numbers(m, k, seed=1),))


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_weight_int8pack_mm(half):
    for m, k, n in [(1, 64, 32), (5, 31, 7), (2, 6, 13), (9, 40, 65)]:
        module = Call(
            lambda x, w, s: torch.ops.aten._weight_int8pack_mm(x, w, s),
            w=integers(-128, 127, n, k),
            s=numbers(n).abs().half().float() * 0.01,
        )

        def expect(x, module=module):
            return torch.nn.functional.linear(x, module.w.float() * module.s[:, None])

        check(module, (numbers(m, k).half().float(),), half=half, tolerance=3e-2 if half else 1e-4, expect=expect)


def rounded(x: torch.Tensor, scale: Any, zero: Any) -> torch.Tensor:
    """Floats, rounded to int8 and converted back."""
    return (torch.clamp(torch.round(x / scale) + zero, -128, 127) - zero) * scale


@pytest.mark.parametrize("biased", [False, True], ids=["plain", "bias"])
def test_linear_q8ta_q8csw(biased):
    """The layer rounds its float input to int8, with the input's scale and zero point."""
    for m, k, n in [(1, 64, 32), (5, 32, 7), (2, 7, 13)]:
        w, s, b = integers(-127, 127, n, k), numbers((n + 3) // 4 * 4).abs() * 0.01, numbers(n)
        sums = w.sum(1, dtype=torch.int32)
        module = Call(
            lambda x, w, sums, s, b: VK.linear_q8ta_q8csw(x, 0.0625, 3, w, sums, s, b if biased else None),
            w=w,
            sums=sums,
            s=s,
            b=b,
        )

        def expect(x, w=w, s=s, b=b, n=n):
            return torch.nn.functional.linear(rounded(x, 0.0625, 3), w * s[:n, None], b if biased else None)

        check(module, (numbers(m, k) * 3,), expect=expect)


def test_linear_dq8ca_q4gsw():
    """Each row of the input is rounded to int8 by its own scale and zero point."""
    for m, k, n, group in SIZES:
        w, s, b = bytes_of(n, k // 2), numbers(k // group, (n + 7) // 8 * 8).abs() * 0.05, numbers(n)
        module = Call(
            lambda x, scale, zero, w, sums, s, b, group=group: VK.linear_dq8ca_q4gsw(
                x, scale, zero, w, sums, s, group, b
            ),
            w=w,
            sums=torch.zeros(k // group, n, dtype=torch.int32),
            s=s,
            b=b,
        )
        scale, zero = numbers(1, m).abs() * 0.02 + 0.01, integers(-20, 20, 1, m)
        check(module, (numbers(m, k), scale, zero))


def test_chosen_scales_of_rows():
    """The sequence of exported programs: choose_qparams_affine, then linear_dq8ca_q4gsw."""

    def call(x, w, sums, s):
        scale, zero = torch.ops.torchao.choose_qparams_affine(
            x, "ASYMMETRIC", [1, x.shape[-1]], torch.int8, -128, 127, 1e-6, torch.float32, torch.int8
        )
        return VK.linear_dq8ca_q4gsw(x, scale, zero, w, sums, s, 16)

    w, s = bytes_of(12, 16), numbers(2, 16).abs() * 0.05
    check(Call(call, w=w, sums=torch.zeros(2, 12, dtype=torch.int32), s=s), (numbers(5, 32),), (numbers(5, 32) - 2,))


def q_and_dq(quantize: Callable[..., Any], dequantize: Callable[..., Any], *cases: Any) -> None:
    """Quantises floats, and turns integers into floats."""
    for x, arguments in cases:
        check(Call(lambda x, arguments=arguments: quantize(x, *arguments)), (x,))
        quantized = quantize(x, *arguments)
        check(Call(lambda x, arguments=arguments: dequantize(x, *arguments)), (quantized,))


def test_per_tensor():
    """int8 and uint8, limits within the range, negative and positive zero points."""
    x = numbers(2, 3, 5, 7) * 3
    q_and_dq(
        QD.quantize_per_tensor,
        QD.dequantize_per_tensor,
        (x, (0.03, 5, -128, 127, torch.int8)),
        (x, (0.05, -3, -127, 127, torch.int8)),
        (x[0, 0], (0.04, 120, 0, 255, torch.uint8)),
        (x[0, 0, 0], (0.5, 0, -8, 7, torch.int8)),
    )


def test_per_tensor_of_tensors():
    x = numbers(3, 5, 7) * 3
    scale, zero = torch.tensor([0.03]), torch.tensor([4], dtype=torch.int32)
    limits = (-128, 127, torch.int8)
    check(Call(lambda x, s, z: QD.quantize_per_tensor.tensor(x, s, z, *limits)), (x, scale, zero))
    q = QD.quantize_per_tensor.tensor(x, scale, zero, *limits)
    check(Call(lambda x, s, z: QD.dequantize_per_tensor.tensor(x, s, z, *limits)), (q, scale, zero))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_per_channel(axis):
    x = numbers(4, 6, 5) * 3
    scale = numbers(x.shape[axis]).abs() * 0.05 + 0.01
    zero = integers(-9, 9, x.shape[axis], dtype=torch.int32)
    rest = (axis, -128, 127, torch.int8)
    check(Call(lambda x, s, z: QD.quantize_per_channel(x, s, z, *rest), s=scale, z=zero), (x,))
    quantized = QD.quantize_per_channel(x, scale, zero, *rest)
    check(Call(lambda x, s, z: QD.dequantize_per_channel(x, s, z, *rest), s=scale, z=zero), (quantized,))
    check(Call(lambda x, s: QD.dequantize_per_channel(x, s, None, *rest), s=scale), (quantized,))


def test_per_token():
    x = numbers(2, 5, 12) * 3
    scale, zero = numbers(2, 5, 1).abs() * 0.05 + 0.01, integers(-9, 9, 2, 5, 1, dtype=torch.int32)
    limits = (-128, 127, torch.int8)
    check(Call(lambda x, s, z: QD.quantize_per_token(x, s, z, *limits)), (x, scale, zero))
    q = QD.quantize_per_token(x, scale, zero, *limits)
    check(Call(lambda x, s, z: QD.dequantize_per_token(x, s, z, *limits, torch.float32)), (q, scale, zero))


@pytest.mark.parametrize("blocks", [[1, 12], [1, 4], [2, 3], [6, 12]])
def test_affine(blocks):
    x = numbers(6, 12) * 3
    sizes = [6 // blocks[0], 12 // blocks[1]]
    scale = numbers(*sizes).abs() * 0.05 + 0.01
    zero = integers(-9, 9, *sizes, dtype=torch.int32)
    ao = torch.ops.torchao
    check(Call(lambda x, s, z: ao.quantize_affine(x, blocks, s, z, torch.int8, -128, 127)), (x, scale, zero))
    q = ao.quantize_affine(x, blocks, scale, zero, torch.int8, -128, 127)
    check(Call(lambda x, s, z: ao.dequantize_affine(x, blocks, s, z, torch.int8, -128, 127)), (q, scale, zero))


SHIFTED = [numbers(3, 5, 8), numbers(3, 5, 8) + 4, numbers(3, 5, 8) - 4, torch.zeros(3, 5, 8)]


def test_choose_qparams():
    module = Call(lambda x: QD.choose_qparams(x, -128, 127, 1e-6, torch.int8))
    exact(module, *SHIFTED)


def test_choose_qparams_per_token():
    module = Call(lambda x: QD.choose_qparams_per_token_asymmetric(x, torch.int8))
    exact(module, *SHIFTED)


@pytest.mark.parametrize("mapping", ["ASYMMETRIC", "SYMMETRIC"])
@pytest.mark.parametrize("blocks", [[1, 1, 8], [3, 5, 8], [1, 5, 8]])
def test_choose_qparams_affine(mapping, blocks):
    module = Call(
        lambda x: torch.ops.torchao.choose_qparams_affine(
            x, mapping, blocks, torch.int8, -128, 127, 1e-6, torch.float32, torch.int32
        )
    )
    exact(module, *SHIFTED)


def exact(module: nn.Module, *tensors: torch.Tensor) -> None:
    check(module, *((x,) for x in tensors), tolerance=1e-6)


# Queries, the first position, whether it is causal, and the scale.
PLACES = [(5, 0, True, None), (1, 7, True, 0.3), (4, 7, True, None), (4, 3, False, None)]


def heads(length: int, count: int, seed: int = 0) -> torch.Tensor:
    return numbers(1, length, count, 8, seed=seed)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_custom_sdpa(half):
    """Several query heads share a key head. Calls begin at the start of the cache or at later positions, and are causal
    or not."""
    for count in (4, 2, 1):
        k, v = heads(11, count, 1), heads(11, count, 2)
        for length, start, causal, scale in PLACES:
            module = Call(
                lambda q, k, v, rest=(start, None, 0.0, causal, scale): torch.ops.llama.custom_sdpa(q, k, v, *rest)
            )
            check(module, (heads(length, 4), k, v), half=half, tolerance=2e-2 if half else 1e-4)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_custom_sdpa_with_a_mask(half):
    """With a mask, attention reads the whole cache; a query whose keys are all masked gives zeros."""
    k, v, added = heads(11, 2, 1), heads(11, 2, 2), numbers(5, 11)
    added[2] = -torch.inf
    for mask in (added, added > 0):
        module = Call(lambda q, k, v, mask: torch.ops.llama.custom_sdpa(q, k, v, 3, mask, 0.0, False, 0.3))
        check(module, (heads(5, 4), k, v, mask), half=half, tolerance=2e-2 if half else 1e-4)


@pytest.mark.parametrize("width", [8, 6])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_apply_rotary_emb_hf(width, half):
    """Several lengths and starts, numbers of key heads, and rotated parts of the depth."""
    table = numbers(9, width)
    for length, start in [(5, 0), (1, 8), (3, 4)]:
        module = Call(
            lambda q, k, cos, sin, start=start: VK.apply_rotary_emb_hf(q, k, cos, sin, start),
            cos=table.cos(),
            sin=table.sin(),
        )
        check(module, (heads(length, 4), heads(length, 2)), half=half, tolerance=1e-2 if half else 1e-4)
