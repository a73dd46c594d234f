# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of the operators `cadence::*`: sizes around the multiples of 4, 8 and 64, the extremes of dtypes and of
parameters, each layout. `CALLS` has them by operator, with the overload after a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from cadence_random import BYTES, KINDS, SIZES, WIDE, Random

Calls = Iterator[tuple[Any, ...]]


def _tensor(value: float, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.tensor([value], dtype=dtype)


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
            _tensor(zero, torch.int64),
            torch.tensor([out_scale]),
            _tensor(out_zero, torch.int64),
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
        yield a, torch.tensor([a_scale]), _tensor(a_zero), b, torch.tensor([b_scale]), _tensor(b_zero), *result


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
        yield x, _tensor(zero), out_zero, _tensor(multiplier), _tensor(shift)


def _layer_norm(r: Random) -> Calls:
    for dtype in BYTES:
        for n in (*SIZES[1:], 100):
            shape = r.choice(([n], [2, n]))
            weight, bias = r.floats(*shape), r.floats(*shape)
            yield (r.integers(dtype, 3, 2, n), r.scale(), r.zero_point(dtype), shape, weight, bias, 1e-5, 0.03,
                   r.zero_point(dtype))  # fmt: skip


def _layer_norm_tensors(r: Random) -> Calls:
    for x, scale, zero, *tail in _layer_norm(r):
        yield x, torch.tensor([scale]), _tensor(zero, torch.int64), *tail


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
        yield (x, mask, dim, kind, pos, torch.tensor([scale]), _tensor(zero), torch.tensor([out_scale]),
               _tensor(out_zero))  # fmt: skip


def _linear(r: Random, dtypes: tuple[torch.dtype, ...], one_row: bool) -> Calls:
    for dtype in dtypes:
        for inputs in (*SIZES, 700):
            outputs = r.randint(1, 9)
            weight_dtype = torch.int8 if dtype in (torch.int16, torch.int32) else dtype
            rows = r.choice(((1,), (1, 3), (1, 2, 2))) if one_row else r.choice(((2,), (2, 3), ()))
            yield (r.integers(dtype, *rows, inputs), r.integers(weight_dtype, outputs, inputs), r.bias(outputs),
                   r.zero_point(dtype), r.zero_point(weight_dtype), *r.multiplier(), r.zero_point(dtype),
                   None)  # fmt: skip


def _linear_tensors(r: Random, one_row: bool) -> Calls:
    for x, weight, bias, zero, w_zero, multiplier, shift, *tail in _linear(r, BYTES, one_row):
        yield x, weight, bias, zero, _tensor(w_zero), _tensor(multiplier), _tensor(shift), *tail


def _matmul(r: Random, dtypes: tuple[torch.dtype, ...]) -> Calls:
    for dtype in dtypes:
        for k in (*SIZES, 70):
            batch, m, n, transposed = r.choice(((), (2,), (2, 3))), r.randint(1, 4), r.randint(1, 70), r.random() < 0.5
            y = r.integers(dtype, *batch, n, k) if transposed else r.integers(dtype, *batch, k, n)
            x = r.integers(dtype, *batch, m, k)
            yield (x, r.zero_point(dtype), y, r.zero_point(dtype), None, *r.multiplier(), r.zero_point(dtype),
                   transposed)  # fmt: skip


def _convolution(r: Random, last: bool, spatial: tuple[int, ...], dtypes: tuple[torch.dtype, ...],
                 depthwise: bool = False, short: bool = False) -> Calls:  # fmt: skip
    for dtype in dtypes:
        for channels in (*SIZES[1:], 20):
            rank = r.choice(spatial)
            groups = channels if depthwise or r.random() < 0.2 else r.choice((1, 1, 2)) if channels % 2 == 0 else 1
            outputs = groups * r.randint(1, 3)
            kernel = [r.randint(1, 3) for _ in range(rank)]
            sizes = [r.choice((5, 7, 9, 70)) if d == rank - 1 else r.randint(5, 8) for d in range(rank)]
            weight_dtype = torch.int8 if dtype == torch.int16 else dtype
            inputs = channels // groups
            if not last:
                x, weight = (r.randint(1, 2), channels, *sizes), (outputs, inputs, *kernel)
            else:
                x = (r.randint(1, 2), *sizes, channels)
                is_short = groups == channels > 1 and (short or r.random() < 0.5)
                weight = (*kernel, outputs) if is_short else (outputs, *kernel, inputs)
            places = (
                [r.randint(1, 3) for _ in kernel],
                [r.randint(0, k) for k in kernel],
                [r.randint(1, 2) for _ in kernel],
            )
            bias_scale = 2.0 ** r.uniform(-12, -4)
            yield (r.integers(dtype, *x), r.integers(weight_dtype, *weight), r.bias(outputs), *places, groups,
                   r.zero_point(dtype), r.zero_point(weight_dtype), bias_scale, r.scale(), r.zero_point(dtype), 1,
                   0)  # fmt: skip


def _convolution_tensors(r: Random, last: bool, spatial: tuple[int, ...]) -> Calls:
    for *head, w_zero, bias_scale, out_scale, out_zero, multiplier, shift in _convolution(r, last, spatial, BYTES):
        yield (
            *head,
            _tensor(w_zero),
            torch.tensor([bias_scale]),
            out_scale,
            out_zero,
            _tensor(multiplier),
            _tensor(shift),
        )


def _floats(r: Random, spatial: int) -> Calls:
    for channels in SIZES[:6]:
        groups = 2 if channels % 2 == 0 else 1
        kernel = [r.randint(1, 3) for _ in range(spatial)]
        weight = r.floats(groups * 2, channels // groups, *kernel)
        places = ([r.randint(1, 2) for _ in kernel], [r.randint(0, 1) for _ in kernel], [1] * spatial)
        yield r.floats(2, channels, *[r.randint(4, 6)] * spatial), weight, r.floats(groups * 2), *places, groups


def _transposed(r: Random, quantized: bool) -> Calls:
    for channels in SIZES[:7]:
        last, spatial = r.random() < 0.5, r.choice((1, 2))
        groups = 2 if channels % 2 == 0 and r.random() < 0.5 else 1
        kernel = [r.randint(1, 3) for _ in range(spatial)]
        stride = [r.randint(1, 3) for _ in kernel]
        places = (stride, [r.randint(0, k - 1) for k in kernel], [r.randint(1, 2) for _ in kernel])
        more = [r.randint(0, s - 1) for s in stride]
        sizes, outputs = [r.randint(3, 6) for _ in kernel], r.randint(1, 3)
        x = (2, *sizes, channels) if last else (2, channels, *sizes)
        weight = (outputs, *kernel, channels) if last else (outputs, channels, *kernel)
        if not quantized:
            yield r.floats(*x), r.floats(*weight), r.floats(outputs * groups), *places, more, groups, last
            continue
        dtype = r.choice(BYTES)
        numbers = (r.zero_point(dtype), _tensor(r.zero_point(dtype)), torch.tensor([2.0 ** r.uniform(-10, -4)]))
        yield (r.integers(dtype, *x), r.integers(dtype, *weight), r.bias(outputs * groups), *places, more, groups,
               *numbers, r.scale(), r.zero_point(dtype), _tensor(1), _tensor(0), last)  # fmt: skip


def _max_pool(r: Random, last: bool) -> Calls:
    for channels in SIZES:
        kernel = r.pair(1, 3)
        padding = [r.randint(0, size // 2) for size in kernel]
        x = (2, *r.pair(5, 9), channels) if last else (2, channels, *r.pair(5, 9))
        yield r.integers(r.choice(BYTES), *x), kernel, r.pair(1, 3), padding, r.pair(1, 2), r.random() < 0.5


def _mean(r: Random) -> Calls:
    for channels in SIZES:
        kernel, ceil = r.pair(1, 4), r.random() < 0.5
        padding, counts = [r.randint(0, size // 2) for size in kernel], r.random() < 0.5
        divisor = r.choice((None, None, 3))
        places = (kernel, r.pair(1, 3), padding, ceil, counts, divisor)
        yield r.floats(2, channels, 7, 9), *places, None, False
        dtype = r.choice(BYTES)
        yield r.integers(dtype, 2, channels, 7, 9), *places, _tensor(r.zero_point(dtype)), False


def _rows(r: Random, number: bool, more: bool = False) -> Calls:
    for channels in SIZES:
        last, batch = r.random() < 0.5, r.randint(1, 3)
        kernel, dilation, padding, stride = r.pair(1, 3), r.pair(1, 2), r.pair(0, 1), r.pair(1, 3)
        dtype = r.choice((*BYTES, torch.int16))
        sizes = r.choice(([r.randint(5, 8)], r.pair(5, 8)))
        if len(sizes) == 1:
            kernel[0], padding[0] = 1, 0
        x = r.integers(dtype, batch, *sizes, channels) if last else r.integers(dtype, batch, channels, *sizes)
        zeros = torch.tensor([r.zero_point(dtype) for _ in range(r.choice((1, batch)))], dtype=torch.int32)
        zero = r.zero_point(dtype) if number else zeros
        output_padding = ([0, r.randint(0, stride[1] - 1)],) if more else ()
        yield x, kernel, dilation, padding, stride, *output_padding, zero, last


def _layers(r: Random) -> Calls:
    for inputs in SIZES:
        outputs = r.randint(1, 5)
        yield r.floats(1, 3, inputs), r.floats(outputs, inputs), r.choice((None, r.floats(outputs)))


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
    "dequantize": lambda r: ((x, torch.tensor([s]), _tensor(z)) for x, s, z, *_ in _dequantize(r, WIDE)),
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
    "quantized_linear": lambda r: _linear_tensors(r, False),
    "quantized_fully_connected": lambda r: _linear_tensors(r, True),
    "fully_connected": _layers,
    "quantized_conv2d_nchw": lambda r: _convolution_tensors(r, False, (2,)),
    "quantized_conv2d_nhwc": lambda r: _convolution_tensors(r, True, (2,)),
    "quantized_conv1d_ncl": lambda r: _convolution_tensors(r, False, (1,)),
    "quantized_conv1d_nlc": lambda r: _convolution_tensors(r, True, (1,)),
    "quantized_conv2d_depthwise_nhwc": lambda r: _convolution(r, True, (1, 2), BYTES, True, True),
    "quantized_depthwise_conv1d_ncl.per_tensor": lambda r: _convolution(r, False, (1,), BYTES, True),
    "quantized_depthwise_conv1d_nlc.per_tensor": lambda r: _convolution(r, True, (1,), BYTES, True),
    "quantized_transposed_conv": lambda r: _transposed(r, True),
    "transposed_convolution": lambda r: _transposed(r, False),
    "quantized_max_pool2d_nchw": lambda r: _max_pool(r, False),
    "quantized_max_pool2d_nhwc": lambda r: _max_pool(r, True),
    "avg_pool2d": _mean,
    "im2row": lambda r: _rows(r, False),
    "im2row.per_tensor": lambda r: _rows(r, True),
    "transposed_im2row": lambda r: _rows(r, False, True),
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
    **{f"conv{n}d": (lambda r, n=n: _floats(r, n)) for n in (1, 2, 3)},
}


def _add_kinds() -> None:
    """The operators for one dtype, and those for all."""
    for kind, dtypes in {"": WIDE, **{f"_{kind}": (dtype,) for kind, dtype in KINDS.items()}}.items():
        CALLS[f"quantize_per_tensor{kind}"] = lambda r, dtypes=dtypes: _quantize(r, dtypes)
        CALLS[f"dequantize_per_tensor{kind}"] = lambda r, dtypes=dtypes: _dequantize(r, dtypes)
    for kind, dtypes in {"": BYTES, "asym8s": BYTES[:1], "asym8u": BYTES[1:]}.items():
        two, three = (f"_{kind}_{kind}", f"_{kind}x{kind}_{kind}") if kind else ("", "")
        relus = dtypes if kind else (*BYTES, torch.int16, torch.uint16)
        layers = dtypes if kind else (*BYTES, torch.int16, torch.int32)
        CALLS[f"quantized_relu{two}.per_tensor"] = lambda r, dtypes=relus: _relu(r, dtypes)
        CALLS[f"quantized_add{three}.per_tensor"] = lambda r, dtypes=dtypes: _pairs(r, dtypes)
        CALLS[f"quantized_matmul{three}"] = lambda r, dtypes=dtypes: _matmul(r, dtypes)
        CALLS[f"quantized_linear{three}.per_tensor"] = lambda r, dtypes=layers: _linear(r, dtypes, False)
        CALLS[f"quantized_fully_connected{three}.per_tensor"] = lambda r, dtypes=layers: _linear(r, dtypes, True)
        if kind:
            for layout in ("nchw", "nhwc"):
                for form in ("", "_dilated", "_depthwise"):
                    name = f"quantized_conv2d_{layout}{form}_{kind}x{kind[1:]}_{kind}"
                    CALLS[f"{name}.per_tensor"] = lambda r, last=layout == "nhwc", form=form, dtypes=dtypes: (
                        _convolution(r, last, (2,), dtypes, form == "_depthwise")
                    )
    samples = (*BYTES, torch.int16)
    for name, last, spatial in (
        ("conv2d_nchw", False, 2),
        ("conv2d_nhwc", True, 2),
        ("conv1d_ncl", False, 1),
        ("conv1d_nlc", True, 1),
    ):
        CALLS[f"quantized_{name}.per_tensor"] = lambda r, last=last, spatial=spatial: _convolution(
            r, last, (spatial,), samples
        )


_add_kinds()


def overload(name: str, out: bool) -> torch._ops.OpOverload:
    """An operator, or its out variant, by its name with the overload after a point."""
    base, _, variant = name.partition(".")
    suffix = (f"{variant}_out" if variant else "out") if out else variant or "default"
    return getattr(getattr(torch.ops.cadence, base), suffix)
