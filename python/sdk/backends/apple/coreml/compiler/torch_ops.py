# SPDX-License-Identifier: BSD-3-Clause
"""Operators that coremltools' converter lacks or converts wrongly, and that Core ML can compute."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

_INDEX_BITS = (1, 2, 3, 4, 6, 8)
"""The widths of indices in Core ML."""


@cache
def register() -> None:
    """Adds the operators to coremltools' registry, in this process."""
    from sdk.backends.apple.coreml._coremltools import coremltools

    coremltools()
    import numpy as np
    from coremltools import target
    from coremltools.converters.mil.frontend.torch.ops import _get_inputs, _get_kwinputs, promote_input_dtypes
    from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY, register_torch_op
    from coremltools.converters.mil.mil import Builder as mb  # noqa: N813 -- the name in coremltools' documents
    from coremltools.converters.mil.mil import types
    from coremltools.converters.mil.mil.block import is_current_opset_version_compatible_with

    def floats_of(x: Any) -> Any:
        return x if types.is_float(x.dtype) else mb.cast(x=x, dtype="fp32")

    def floats(context: Any, node: Any) -> Any:
        return floats_of(*_get_inputs(context, node, expected=1))

    @register_torch_op(override=True)
    def trunc(context: Any, node: Any) -> None:
        (x,) = _get_inputs(context, node, expected=1)
        if types.is_float(x.dtype):
            x = mb.mul(x=mb.sign(x=x), y=mb.floor(x=mb.abs(x=x)))
        context.add(mb.identity(x=x, name=node.name))

    def log_of(x: Any, **options: Any) -> Any:
        # By default MIL adds 1e-45 to float32 operands, which makes log(0) -103.3.
        return mb.log(x=x, epsilon=0.0, **options)

    @register_torch_op(override=True)
    def log(context: Any, node: Any) -> None:
        context.add(log_of(floats(context, node), name=node.name))

    def logarithm(name: str, base: float) -> Any:
        def convert(context: Any, node: Any) -> None:
            context.add(mb.mul(x=log_of(floats(context, node)), y=1 / math.log(base), name=node.name))

        convert.__name__ = name  # coremltools registers functions by their names
        return convert

    register_torch_op(logarithm("log2", 2.0), override=True)
    register_torch_op(logarithm("log10", 10.0), override=True)

    @register_torch_op(override=True)
    def rsqrt(context: Any, node: Any) -> None:
        # MIL's rsqrt adds epsilon to x, 1e-12 by default. Even with epsilon = 0 it loses the sign of -0.
        context.add(mb.real_div(x=1.0, y=mb.sqrt(x=floats(context, node)), name=node.name))

    @register_torch_op(torch_alias=["_log_softmax"], override=True)
    def log_softmax(context: Any, node: Any) -> None:
        # coremltools takes the logarithm of a softmax, which rounds probabilities to 0: in float16 those below e^-17.
        x, axis = _get_inputs(context, node, min_expected=2)[:2]
        axes = [int(axis.val)]
        shifted = mb.sub(x=x, y=mb.reduce_max(x=x, axes=axes, keep_dims=True))
        total = mb.reduce_sum(x=mb.exp(x=shifted), axes=axes, keep_dims=True)
        context.add(mb.sub(x=shifted, y=log_of(total), name=node.name))

    # The squares of large x would be infinite: in float16 those of x above 255.

    @register_torch_op(override=True)
    def asinh(context: Any, node: Any) -> None:
        # With size = |x| and m = max(size, 1), log(size + sqrt(size^2 + 1)) = log(m) + log(s + sqrt(s^2 + (1 / m)^2)),
        # where s = size / m = min(size, 1). The sign is that of x.
        x = floats(context, node)
        size = mb.abs(x=x)
        large, small = mb.maximum(x=size, y=1.0), mb.minimum(x=size, y=1.0)
        squares = mb.add(x=mb.square(x=small), y=mb.square(x=mb.real_div(x=1.0, y=large)))
        logs = mb.add(x=log_of(large), y=log_of(mb.add(x=small, y=mb.sqrt(x=squares))))
        context.add(mb.mul(x=mb.sign(x=x), y=logs, name=node.name))

    @register_torch_op(override=True)
    def acosh(context: Any, node: Any) -> None:
        # log(x + sqrt(x - 1) sqrt(x + 1)), computed as log(2) plus the log of half the sum, which is finite.
        x = floats(context, node)
        root = mb.mul(x=mb.sqrt(x=mb.sub(x=x, y=1.0)), y=mb.sqrt(x=mb.add(x=x, y=1.0)))
        half = mb.add(x=mb.mul(x=x, y=0.5), y=mb.mul(x=root, y=0.5))
        context.add(mb.add(x=log_of(half), y=math.log(2), name=node.name))

    @register_torch_op(override=True)
    def atan2(context: Any, node: Any) -> None:
        # coremltools takes the arctangent of y / x, which is 0 for y = 0 and negative x, and NaN for infinite operands.
        y, x = map(floats_of, promote_input_dtypes(_get_inputs(context, node, expected=2)))

        def is_negative(value: Any) -> Any:
            return mb.logical_or(x=mb.less(x=value, y=0.0), y=mb.less(x=mb.real_div(x=1.0, y=value), y=0.0))

        height, width = mb.abs(x=y), mb.abs(x=x)
        most, least = mb.maximum(x=height, y=width), mb.minimum(x=height, y=width)
        ratio = mb.select(cond=mb.equal(x=most, y=least), a=1.0, b=mb.real_div(x=least, y=most))
        angle = mb.atan(x=mb.select(cond=mb.equal(x=most, y=0.0), a=0.0, b=ratio))
        angle = mb.select(cond=mb.greater(x=height, y=width), a=mb.sub(x=math.pi / 2, y=angle), b=angle)
        angle = mb.select(cond=is_negative(x), a=mb.sub(x=math.pi, y=angle), b=angle)
        context.add(mb.select(cond=is_negative(y), a=mb.mul(x=angle, y=-1.0), b=angle, name=node.name))

    @register_torch_op(override=True)
    def reciprocal(context: Any, node: Any) -> None:
        # coremltools takes the operation `inverse`, which adds 0.0001 to x.
        context.add(mb.real_div(x=1.0, y=floats(context, node), name=node.name))

    def scaling(kind: str) -> Any:
        plain = _TORCH_OPS_REGISTRY.get_func(kind)

        def convert(context: Any, node: Any) -> None:
            # coremltools refuses a positional alpha other than 1, and ignores a keyword alpha.
            inputs = _get_inputs(context, node)
            alpha = inputs[2] if len(inputs) > 2 else _get_kwinputs(context, node, "alpha", default=[1])[0]
            alpha = getattr(alpha, "val", alpha)
            names = list(node.inputs[:2])
            if alpha != 1:
                scaled = 0 if node.kind == "rsub" else 1
                x, factor = promote_input_dtypes([inputs[scaled], alpha])
                product = mb.mul(x=x, y=factor, name=f"{node.name}_scaled")
                context.add(product)
                names[scaled] = product.name
            node.inputs = names
            plain(context, node)

        convert.__name__ = kind  # coremltools registers functions by their names
        return convert

    register_torch_op(scaling("add"), override=True)
    register_torch_op(scaling("sub"), torch_alias=["rsub"], override=True)

    pool = _TORCH_OPS_REGISTRY.get_func("max_pool2d_with_indices")

    @register_torch_op(override=True)
    def max_pool2d_with_indices(context: Any, node: Any) -> None:
        # coremltools expects all arguments; an exported graph leaves out arguments with default values.
        defaults = (node.inputs[1], (0, 0), (1, 1), False)
        given = [*node.inputs, *defaults[len(node.inputs) - 2 :]]
        node.inputs = [given[0], given[1], given[2] or given[1], *given[3:]]
        pool(context, node)

    along_dimension = _TORCH_OPS_REGISTRY.get_func("argmax")

    @register_torch_op(torch_alias=["argmin"], override=True)
    def argmax(context: Any, node: Any) -> None:
        # Without a dimension, coremltools reduces the last one, PyTorch the whole tensor.
        x, dim, keepdim = [*_get_inputs(context, node), None, False][:3]
        dim, keepdim = (
            _constant(_get_kwinputs(context, node, name, default=[given])[0])
            for name, given in (("dim", dim), ("keepdim", keepdim))
        )
        if dim is not None:
            along_dimension(context, node)
            return
        reduce = mb.reduce_argmax if node.kind == "argmax" else mb.reduce_argmin
        whole = x if types.is_float(x.dtype) else mb.cast(x=x, dtype="int32")
        flat = mb.reshape(x=whole, shape=[-1])
        if keepdim:
            place = reduce(x=flat, axis=0, keep_dims=True)
            context.add(mb.reshape(x=place, shape=[1] * x.rank, name=node.name))
        else:
            context.add(reduce(x=flat, axis=0, keep_dims=False, name=node.name))

    by_factors = _TORCH_OPS_REGISTRY.get_func("upsample_bilinear2d")

    @register_torch_op(torch_alias=["upsample_bilinear2d.vec"], override=True)
    def upsample_bilinear2d(context: Any, node: Any) -> None:
        # Unless the new size is a multiple, coremltools scales by (new size + 0.0001) / old size, which moves pixels.
        x, output_size, align_corners, *factors = _get_inputs(context, node)
        sizes = _constant(output_size)
        is_given = sizes is not None and all(size is not None for size in sizes) and not node.kwinputs
        if not is_given or any(factor is not None for factor in factors):
            by_factors(context, node)
            return
        resized = mb.resize_bilinear(
            x=floats_of(x),
            target_size_height=int(sizes[0]),
            target_size_width=int(sizes[1]),
            sampling_mode="STRICT_ALIGN_CORNERS" if align_corners.val else "UNALIGN_CORNERS",
            name=node.name,
        )
        context.add(resized)

    @register_torch_op(torch_alias=["torchao::dequantize_affine"], override=True)
    def dequantize_affine(context: Any, node: Any) -> None:
        """Converts constants in blocks, each with a scale and a zero point. Core ML keeps them quantised."""
        data, block, scale, zero, _, low, high = (
            [_constant(each) for each in _get_inputs(context, node)] + [None] * 7
        )[:7]
        if data is None or scale is None or (np.ndim(scale) == 0 and data.ndim == 0):
            raise ValueError("it dequantises a value that is not a constant")
        sizes = [int(size) for size in np.asarray(block).reshape(-1)]
        blocks = [data.shape[i] // size for i, size in enumerate(sizes)]
        bits = 4 if low is not None and int(low) >= -8 and int(high) <= 7 else 8
        context.add(compressed(data, scale, zero, blocks, bits, node.name))

    def compressed(data: Any, scale: Any, zero: Any, blocks: list[int], bits: int, name: str) -> Any:
        """(data - zero) scale as an operation on constants, with a scale and a zero point for each block."""
        scale = np.asarray(scale, np.float32).reshape(blocks)
        offset = None
        if zero is not None and np.any(zero):
            offset = np.asarray(zero).reshape(blocks).astype(data.dtype)
            if not np.array_equal(offset, np.asarray(zero).reshape(blocks)):
                raise ValueError("its zero points are not of the dtype of the data")
        if is_current_opset_version_compatible_with(target.iOS18):
            if bits == 4:
                data = data.astype(types.np_int4_dtype)
                offset = None if offset is None else offset.astype(types.np_int4_dtype)
            return mb.constexpr_blockwise_shift_scale(data=data, scale=scale, offset=offset, name=name)
        if bits == 4 or any(count > 1 for count in blocks[1:]):
            raise ValueError("4 bits and groups need the deployment target iOS18")
        zero = np.zeros(blocks[0], data.dtype) if offset is None else offset.reshape(-1)
        return mb.constexpr_affine_dequantize(
            quantized_data=data, zero_point=zero, scale=scale.reshape(-1), axis=np.int32(0), name=name
        )

    def embedding(context: Any, node: Any, bits: int) -> None:
        """Rows of a compressed table (`sdk.exir.operator.quantized_ops`)."""
        inputs = _get_inputs(context, node)
        table, scale, zero = (_constant(each) for each in inputs[:3])
        if table is None or scale is None:
            raise ValueError("its table is not a constant")
        if bits < 8:
            shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
            parts = [(table.astype(np.int16) >> shift) & ((1 << bits) - 1) for shift in shifts]
            table = (np.stack(parts, -1).reshape(len(table), -1) - (1 << (bits - 1))).astype(np.int8)
        blocks = [len(table), np.size(scale) // len(table)]
        rows = compressed(table, scale, zero, blocks, max(bits, 4), f"{node.name}_table")
        indices = mb.cast(x=inputs[5], dtype="int32")
        context.add(mb.gather(x=rows, indices=indices, axis=0, name=node.name))

    def embedding_converter(bits: int, name: str) -> Any:
        def convert(context: Any, node: Any) -> None:
            embedding(context, node, bits)

        convert.__name__ = name  # coremltools registers functions by their names
        return convert

    for bits, name in ((8, "embedding_byte"), (4, "embedding_4bit"), (2, "embedding_2bit")):
        aliases = [f"quantized_decomposed::{name}{overload}" for overload in ("", ".dtype")]
        register_torch_op(embedding_converter(bits, name), torch_alias=aliases, override=True)

    @register_torch_op(torch_alias=["quant::dequantize_codebook"], override=True)
    def dequantize_codebook(context: Any, node: Any) -> None:
        """Converts constants that are indices into tables (torchao's codebooks). Core ML keeps the indices and the
        tables."""
        codes, tables, bits = (_constant(each) for each in _get_inputs(context, node)[:3])
        if codes is None or tables is None:
            raise ValueError("it looks up a value that is not a constant")
        if not is_current_opset_version_compatible_with(target.iOS18):
            raise ValueError("codebooks need the deployment target iOS18")
        width = min(each for each in _INDEX_BITS if each >= int(bits))
        missing = (1 << width) - tables.shape[-2]  # padding: no index refers to these entries
        tables = np.pad(tables.astype(np.float32), [(0, 0)] * (tables.ndim - 2) + [(0, missing), (0, 0)])
        indices = codes.astype(types.nptype_from_builtin(types.string_to_builtin(f"uint{width}")))
        context.add(mb.constexpr_lut_to_dense(indices=indices, lut=tables, name=node.name))


def _constant(value: Any) -> Any:
    """The value of a constant of MIL, or the argument itself; None for a computed value."""
    found = getattr(value, "val", value)
    return [_constant(each) for each in found] if isinstance(found, (list, tuple)) else found
