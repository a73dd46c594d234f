# SPDX-License-Identifier: BSD-3-Clause
"""Small sample calls of operators, which are tried with all dtypes to find those that the operators accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from sdk.exir.dialects.edge.dtype.supported import regular_tensor_dtypes_to_str


class Shape(tuple):
    """The shape of a tensor argument, whose dtype varies."""


def _t(*sizes: int) -> Shape:
    return Shape(sizes)


_PAIR = [1, 1]

SAMPLE_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "_adaptive_avg_pool2d.default": (_t(1, 1, 2, 2), _PAIR),
    "_adaptive_avg_pool3d.default": (_t(1, 1, 2, 2, 2), [1, 1, 1]),
    "_cdist_forward.default": (_t(2, 2), _t(2, 2), 2.0, None),
    "_embedding_bag.default": (_t(2, 2), _t(2), _t(1)),
    "_fft_c2r.default": (_t(2, 2), [0], 0, 2),
    "_fft_r2c.default": (_t(2, 2), [0], 0, True),
    "_native_batch_norm_legit.default": (_t(2, 2), _t(2), _t(2), _t(2), _t(2), False, 0.1, 1e-5),
    "_native_batch_norm_legit.no_stats": (_t(2, 2), _t(2), _t(2), True, 0.1, 1e-5),
    "_native_batch_norm_legit_no_training.default": (_t(2, 2), _t(2), _t(2), _t(2), _t(2), 0.1, 1e-5),
    "_pdist_forward.default": (_t(2, 2),),
    "_upsample_bilinear2d_aa.default": (_t(1, 1, 2, 2), [2, 2], False),
    "adaptive_avg_pool1d.default": (_t(1, 2, 2), [1]),
    "addmm.default": (_t(2, 2), _t(2, 2), _t(2, 2)),
    "as_strided.default": (_t(2, 2), [2], [1]),
    "as_strided_copy.default": (_t(2, 2), [2], [1]),
    "avg_pool1d.default": (_t(1, 2, 2), [1]),
    "avg_pool2d.default": (_t(1, 1, 2, 2), _PAIR),
    "avg_pool3d.default": (_t(1, 1, 2, 2, 2), [1, 1, 1]),
    "baddbmm.default": (_t(1, 2, 2), _t(1, 2, 2), _t(1, 2, 2)),
    "bmm.default": (_t(1, 2, 2), _t(1, 2, 2)),
    "clamp.Tensor": (_t(2, 2), _t(2, 2), _t(2, 2)),
    "clamp.default": (_t(2, 2), 0, 1),
    "col2im.default": (_t(1, 1, 1), _PAIR, _PAIR, _PAIR, [0, 0], _PAIR),
    "constant_pad_nd.default": (_t(2, 2), _PAIR, 1),
    "convolution.default": (_t(1, 1, 2, 2), _t(1, 1, 1, 1), _t(1), _PAIR, [0, 0], _PAIR, False, [0, 0], 1),
    "diagonal.default": (_t(2, 2),),
    "diagonal_copy.default": (_t(2, 2),),
    "div.Tensor_mode": (_t(2, 2), _t(2, 2)),
    "div.Scalar_mode": (_t(2, 2), 1),
    "embedding.default": (_t(2, 2), _t(2)),
    "expand.default": (_t(2, 2), [2, 2]),
    "expand_copy.default": (_t(2, 2), [2, 2]),
    "flip.default": (_t(2, 2), [0]),
    "gather.default": (_t(2, 2), 0, _t(1, 1)),
    "glu.default": (_t(2, 2), 0),
    "grid_sampler_2d.default": (_t(1, 1, 2, 2), _t(1, 2, 2, 2), 0, 0, False),
    "index.Tensor": (_t(2, 2), [_t(2)]),
    "index_put.default": (_t(2, 2), [_t(2)], _t(2, 2)),
    "index_select.default": (_t(2, 2), 0, _t(1)),
    "linear.default": (_t(2, 2), _t(2, 2), _t(2)),
    "max_pool2d_with_indices.default": (_t(1, 1, 2, 2), _PAIR),
    "max_pool3d_with_indices.default": (_t(1, 1, 2, 2, 2), [1, 1, 1]),
    "native_dropout.default": (_t(2, 2), 0.5, True),
    "native_group_norm.default": (_t(1, 2, 2), _t(2), _t(2), 1, 2, 2, 1, 1e-5),
    "native_layer_norm.default": (_t(2, 2), [2], _t(2), _t(2), 1e-5),
    "permute.default": (_t(2, 2), [1, 0]),
    "permute_copy.default": (_t(2, 2), [1, 0]),
    "pixel_shuffle.default": (_t(1, 4, 2, 2), 2),
    "pixel_unshuffle.default": (_t(1, 1, 2, 2), 2),
    "reflection_pad1d.default": (_t(1, 2, 2), _PAIR),
    "reflection_pad2d.default": (_t(1, 2, 2, 2), [1, 1, 1, 1]),
    "reflection_pad3d.default": (_t(1, 1, 2, 2, 2), [1, 1, 1, 1, 1, 1]),
    "repeat.default": (_t(2, 2), [1, 1]),
    "repeat_interleave.Tensor": (_t(2),),
    "replication_pad1d.default": (_t(1, 2, 2), _PAIR),
    "replication_pad2d.default": (_t(1, 2, 2, 2), [1, 1, 1, 1]),
    "replication_pad3d.default": (_t(1, 1, 2, 2, 2), [1, 1, 1, 1, 1, 1]),
    "scatter.src": (_t(2, 2), 0, _t(1, 1), _t(1, 1)),
    "scatter.value": (_t(2, 2), 0, _t(1, 1), 1),
    "scatter_add.default": (_t(2, 2), 0, _t(1, 1), _t(1, 1)),
    "scatter_reduce.two": (_t(2, 2), 0, _t(1, 1), _t(1, 1), "sum"),
    "select_scatter.default": (_t(2, 2), _t(2), 0, 0),
    "slice_scatter.default": (_t(2, 2), _t(2, 2)),
    "split_copy.Tensor": (_t(2, 2), 1),
    "split_with_sizes.default": (_t(2, 2), [1, 1]),
    "split_with_sizes_copy.default": (_t(2, 2), [1, 1]),
    "squeeze.dims": (_t(2, 1), [1]),
    "squeeze_copy.dims": (_t(2, 1), [1]),
    "topk.default": (_t(2, 2), 1),
    "unfold_copy.default": (_t(2, 2), 0, 1, 1),
    "upsample_bilinear2d.vec": (_t(1, 1, 2, 2), [2, 2], False, None),
    "upsample_nearest2d.vec": (_t(1, 1, 2, 2), [2, 2], None),
    "view.default": (_t(2, 2), [4]),
    "view_copy.default": (_t(2, 2), [4]),
    "where.self": (_t(2, 2), _t(2, 2), _t(2, 2)),
}
"""Arguments for operators that reject those that `sample_arguments` makes up. Sizes are minimal."""

_ROUNDING: tuple[dict[str, Any], ...] = ({"rounding_mode": "floor"}, {"rounding_mode": None})
"""Without rounding, a quotient of integers is a float."""

_KEYWORDS = {"div.Tensor_mode": _ROUNDING, "div.Scalar_mode": _ROUNDING}

_BY_TYPE = {
    "Tensor": _t(2, 2),
    "Optional[Tensor]": _t(2, 2),
    "List[Tensor]": [_t(2, 2), _t(2, 2)],
    "int": 0,
    "List[int]": [0],
    "Optional[List[int]]": [0],
    "number": 1,
    "float": 1.0,
    "bool": False,
}


def sample_arguments(schema: torch._C.FunctionSchema) -> tuple[Any, ...]:
    """Positional arguments of a call, with a `Shape` for every tensor. Raises KeyError for a type it cannot make up."""
    overload = schema.overload_name or "default"
    known = SAMPLE_ARGUMENTS.get(f"{schema.name.split('::')[-1]}.{overload}")
    if known is not None:
        return known
    return tuple(
        _BY_TYPE[str(a.type)]
        for a in schema.arguments
        if not a.kwarg_only and not a.has_default_value() and a.name != "dtype"
    )


def sample_keywords(schema: torch._C.FunctionSchema) -> Iterator[dict[str, Any]]:
    """Keyword arguments of the calls to try: one for every dtype that an operator can be asked for."""
    dtype = next((a for a in schema.arguments if a.name == "dtype"), None)
    for fixed in _KEYWORDS.get(f"{schema.name.split('::')[-1]}.{schema.overload_name}", ({},)):
        if dtype is None or dtype.has_default_value():
            yield fixed
        if dtype is not None:
            yield from ({**fixed, "dtype": value} for value in regular_tensor_dtypes_to_str)
