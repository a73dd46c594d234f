# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of the operators `cadence::*`, with sizes around the multiples of 4, 8 and 64, the extremes of dtypes
and parameters, and each layout. `CALLS` maps an operator's name and overload to a function that makes calls."""

from __future__ import annotations

from collections.abc import Callable

import torch
from cadence_layer_calls import (
    convolution_calls,
    convolution_tensors,
    floats_calls,
    layers_calls,
    linear_calls,
    linear_tensors,
    matmul_calls,
    max_pool_calls,
    mean_calls,
    rows_calls,
    transposed_calls,
)
from cadence_random import BYTES, KINDS, SIZES, WIDE, Calls, Random, number_tensor


def _real(r: Random) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([r.scale()]), torch.tensor([r.randint(-128, 127)])


def _quantize(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    ends = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 3e38, -3e38, float("inf"), -float("inf"), float("nan")])
    for dtype in dtypes:
        scale, limits = r.scale(), torch.iinfo(dtype)
        values = torch.cat((ends, ends[:6] * scale, torch.linspace(-300, 300, 777) * scale))
        yield values, scale, r.zero_point(dtype), limits.min, limits.max, dtype
        yield values[:80].reshape(2, 40), scale, 0, max(limits.min, -5), 100, dtype


def _dequantize(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    for dtype in dtypes:
        limits = torch.iinfo(dtype)
        yield r.integers(dtype, 3, 17), r.scale(), r.zero_point(dtype), limits.min, limits.max, dtype


def _requantize(r: Random) -> Calls:
    for source in WIDE:
        for target in WIDE:
            values = r.integers(source, 2, 9)
            yield values, r.scale(), r.zero_point(source), r.scale(), r.zero_point(target), target


def _requantize_tensors(r: Random) -> Calls:
    for x, scale, zero, out_scale, out_zero, dtype in _requantize(r):
        yield (
            x,
            torch.tensor([scale]),
            number_tensor(zero, torch.int64),
            torch.tensor([out_scale]),
            number_tensor(out_zero, torch.int64),
            dtype,
        )


def _pairs(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    for dtype in dtypes:
        for n in SIZES:
            for a, b in (((2, n), (2, n)), ((n,), (3, 1, n)), ((2, n, 3), (1, n, 1)), ((n,), ())):
                yield (r.integers(dtype, *a), r.scale(), r.zero_point(dtype), r.integers(dtype, *b), r.scale(),
                       r.zero_point(dtype), r.scale(), r.zero_point(dtype))  # fmt: skip


def _pairs_of_tensors(r: Random) -> Calls:
    for a, a_scale, a_zero, b, b_scale, b_zero, *result in _pairs(r, BYTES):
        yield (
            a,
            torch.tensor([a_scale]),
            number_tensor(a_zero),
            b,
            torch.tensor([b_scale]),
            number_tensor(b_zero),
            *result,
        )


def _with_number(r: Random) -> Calls:
    for dtype in BYTES:
        for n in SIZES:
            yield r.integers(dtype, 2, n), *_real(r), r.choice((2, -0.5, 7.25)), r.scale(), r.zero_point(dtype)


def _relu(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    for dtype in dtypes:
        for n in SIZES:
            yield r.integers(dtype, 2, n), r.zero_point(dtype), r.zero_point(dtype), *r.multiplier()


def _relu_tensors(r: Random) -> Calls:
    for x, zero, out_zero, multiplier, shift in _relu(r, BYTES):
        yield x, number_tensor(zero), out_zero, number_tensor(multiplier), number_tensor(shift)


def _layer_norm(r: Random) -> Calls:
    for dtype in BYTES:
        for n in (*SIZES[1:], 100):
            shape = r.choice(([n], [2, n]))
            weight, bias = r.floats(*shape), r.floats(*shape)
            yield (r.integers(dtype, 3, 2, n), r.scale(), r.zero_point(dtype), shape, weight, bias, 1e-5, 0.03,
                   r.zero_point(dtype))  # fmt: skip


def _layer_norm_tensors(r: Random) -> Calls:
    for x, scale, zero, *tail in _layer_norm(r):
        yield x, torch.tensor([scale]), number_tensor(zero, torch.int64), *tail


def _softmax(r: Random) -> Calls:
    for dtype in (*BYTES, torch.int16):
        for n in (*SIZES, 100):
            scale = 2.0 ** r.uniform(-14, -8) if dtype == torch.int16 else 2.0 ** r.uniform(-6, 1)
            x, limits = r.integers(dtype, 2, n, 3), torch.iinfo(dtype)
            out = (1 / (limits.max - limits.min), limits.min)
            yield (x, torch.zeros(1, dtype=torch.int32), r.choice((1, -1, -2, 0)), 0, torch.zeros(1), scale,
                   r.zero_point(dtype), *out)  # fmt: skip


def _softmax_tensors(r: Random) -> Calls:
    for x, mask, dim, kind, pos, scale, zero, out_scale, out_zero in _softmax(r):
        yield (x, mask, dim, kind, pos, torch.tensor([scale]), number_tensor(zero), torch.tensor([out_scale]),
               number_tensor(out_zero))  # fmt: skip


def _w8a32_linear(r: Random) -> Calls:
    for inputs in (4, 8, 12, 64):
        outputs = r.randint(1, 5)
        x = r.floats(*r.choice(((inputs,), (1, inputs), (2, 1, inputs))))
        yield x, r.integers(torch.int8, inputs, outputs), 0.01, r.integers(torch.int8, outputs), 0.02


def _w8a32_conv(r: Random) -> Calls:
    for inputs in (4, 8, 12):
        yield (
            r.floats(2, r.randint(3, 7), inputs),
            r.integers(torch.int8, 3, 8, inputs),
            0.01,
            r.integers(torch.int8, 8),
            0.02,
        )


def _gru(r: Random) -> Calls:
    for states in (4, 8, 12):
        for hidden in ((states,), (1, states), (1, 1, states)):
            inputs = r.randint(1, 9)
            weights = (
                r.integers(torch.int8, 3 * states, inputs),
                0.01,
                r.integers(torch.int8, 3 * states, states),
                0.02,
            )
            biases = (r.integers(torch.int8, 3 * states), 0.03, r.integers(torch.int8, 3 * states))
            yield r.floats(1, 1, inputs), r.floats(*hidden), *weights, *biases


def _rope(r: Random) -> Calls:
    for half in (1, 2, 3, 8):
        length, heads = r.randint(1, 5), r.randint(1, 3)
        shape = r.choice(((2 * half,), (half, 2)))
        tables = (r.floats(9, half), r.floats(9, half))
        pos = torch.tensor([r.randint(0, 8) for _ in range(length)], dtype=r.choice((torch.int32, torch.int64)))
        yield r.floats(1, length, heads, *shape), *tables, r.choice((None, pos))


def _masks(r: Random) -> Calls:
    for count in (8, 16, 24):
        yield r.floats(2, 3, count), 0.1
        yield r.floats(count) > 0, 0.0


def _embedding(r: Random) -> Calls:
    for groups in (1, 2, 4):
        shape = (6,) if groups == 1 else (6, groups)
        zeros = r.choice((None, torch.round(r.floats(*shape) * 9)))
        weight, indices = r.integers(r.choice(BYTES), 6, 8), torch.tensor([[0, 5], [3, 3]])
        yield weight, r.floats(*shape).abs(), zeros, indices, False


def _copies(r: Random, tail: tuple[int, ...]) -> Calls:
    for n in SIZES:
        yield r.integers(torch.int8, 2, n), *tail
        yield r.floats(n), *tail


def _where(r: Random) -> Calls:
    for n in SIZES:
        yield r.floats(2, n) > 0, 0.5, -3.0


def _norm(r: Random) -> Calls:
    for n in SIZES:
        yield r.floats(3, n), [n], r.floats(n), 1e-6


CALLS: dict[str, Callable[[Random], Calls]] = {
    "dequantize": lambda r: ((x, torch.tensor([s]), number_tensor(z)) for x, s, z, *_ in _dequantize(r, WIDE)),
    "requantize": _requantize_tensors,
    "requantize.per_tensor": _requantize,
    "quantized_add": _pairs_of_tensors,
    "quantized_mul": _pairs_of_tensors,
    "quantized_mul.per_tensor": lambda r: _pairs(r, BYTES),
    "quantized_add_Scalar": _with_number,
    "quantized_mul_Scalar": _with_number,
    "quantized_relu": _relu_tensors,
    "quantized_layer_norm": _layer_norm_tensors,
    "quantized_layer_norm.per_tensor": _layer_norm,
    "quantized_softmax": _softmax_tensors,
    "quantized_softmax.per_tensor": _softmax,
    "_softmax_f32_f32": lambda r: ((r.floats(2, n, 3), r.choice((0, 1, -1))) for n in SIZES),
    "quantized_linear": lambda r: linear_tensors(r, False),
    "quantized_fully_connected": lambda r: linear_tensors(r, True),
    "fully_connected": layers_calls,
    "quantized_conv2d_nchw": lambda r: convolution_tensors(r, False, (2,)),
    "quantized_conv2d_nhwc": lambda r: convolution_tensors(r, True, (2,)),
    "quantized_conv1d_ncl": lambda r: convolution_tensors(r, False, (1,)),
    "quantized_conv1d_nlc": lambda r: convolution_tensors(r, True, (1,)),
    "quantized_conv2d_depthwise_nhwc": lambda r: convolution_calls(r, True, (1, 2), BYTES, True, True),
    "quantized_depthwise_conv1d_ncl.per_tensor": lambda r: convolution_calls(r, False, (1,), BYTES, True),
    "quantized_depthwise_conv1d_nlc.per_tensor": lambda r: convolution_calls(r, True, (1,), BYTES, True),
    "quantized_transposed_conv": lambda r: transposed_calls(r, True),
    "transposed_convolution": lambda r: transposed_calls(r, False),
    "quantized_max_pool2d_nchw": lambda r: max_pool_calls(r, False),
    "quantized_max_pool2d_nhwc": lambda r: max_pool_calls(r, True),
    "avg_pool2d": mean_calls,
    "im2row": lambda r: rows_calls(r, False),
    "im2row.per_tensor": lambda r: rows_calls(r, True),
    "transposed_im2row": lambda r: rows_calls(r, False, True),
    "quantized_w8a32_linear": _w8a32_linear,
    "quantized_w8a32_conv": _w8a32_conv,
    "quantized_w8a32_gru": _gru,
    "rope": _rope,
    "rope_rotate_stacked_halves": _rope,
    "sdpa_bitwise_mask_gen": _masks,
    "quantized_embedding_byte": _embedding,
    "where_Scalar": _where,
    "rms_norm": _norm,
    "idma_wait": lambda r: _copies(r, (0,)),
    "linalg_svd": lambda r: ((r.floats(4, n),) for n in SIZES[:6]),
    **{name: lambda r: _copies(r, (0, 0)) for name in ("idma_copy", "idma_load", "idma_store")},
    **{f"conv{n}d": (lambda r, n=n: floats_calls(r, n)) for n in (1, 2, 3)},
}


def _add_kinds() -> None:
    """Adds the operators that take all dtypes, and those for one dtype, whose names end with it."""
    for kind, dtypes in {"": WIDE, **{f"_{kind}": (dtype,) for kind, dtype in KINDS.items()}}.items():
        CALLS[f"quantize_per_tensor{kind}"] = lambda r, dtypes=dtypes: _quantize(r, dtypes)
        CALLS[f"dequantize_per_tensor{kind}"] = lambda r, dtypes=dtypes: _dequantize(r, dtypes)
    for kind, dtypes in {"": BYTES, "asym8s": BYTES[:1], "asym8u": BYTES[1:]}.items():
        two, three = (f"_{kind}_{kind}", f"_{kind}x{kind}_{kind}") if kind else ("", "")
        relus = dtypes if kind else (*BYTES, torch.int16, torch.uint16)
        layers = dtypes if kind else (*BYTES, torch.int16, torch.int32)
        CALLS[f"quantized_relu{two}.per_tensor"] = lambda r, dtypes=relus: _relu(r, dtypes)
        CALLS[f"quantized_add{three}.per_tensor"] = lambda r, dtypes=dtypes: _pairs(r, dtypes)
        CALLS[f"quantized_matmul{three}"] = lambda r, dtypes=dtypes: matmul_calls(r, dtypes)
        CALLS[f"quantized_linear{three}.per_tensor"] = lambda r, dtypes=layers: linear_calls(r, dtypes, False)
        CALLS[f"quantized_fully_connected{three}.per_tensor"] = lambda r, dtypes=layers: linear_calls(r, dtypes, True)
        if kind:
            for layout in ("nchw", "nhwc"):
                for form in ("", "_dilated", "_depthwise"):
                    name = f"quantized_conv2d_{layout}{form}_{kind}x{kind[1:]}_{kind}"
                    CALLS[f"{name}.per_tensor"] = lambda r, last=layout == "nhwc", form=form, dtypes=dtypes: (
                        convolution_calls(r, last, (2,), dtypes, form == "_depthwise")
                    )
    samples = (*BYTES, torch.int16)
    for name, last, spatial in (
        ("conv2d_nchw", False, 2),
        ("conv2d_nhwc", True, 2),
        ("conv1d_ncl", False, 1),
        ("conv1d_nlc", True, 1),
    ):
        CALLS[f"quantized_{name}.per_tensor"] = lambda r, last=last, spatial=spatial: convolution_calls(
            r, last, (spatial,), samples
        )


_add_kinds()


def overload(name: str, out: bool) -> torch._ops.OpOverload:
    """An operator, or its out variant, by its name with the overload after a point."""
    base, _, variant = name.partition(".")
    suffix = (f"{variant}_out" if variant else "out") if out else variant or "default"
    return getattr(getattr(torch.ops.cadence, base), suffix)
