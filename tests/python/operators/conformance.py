# SPDX-License-Identifier: BSD-3-Clause
"""Runs one recorded call in the runtime and compares the results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from recorder import Call, Recorder
from single_operator import OutputSpec, run, written_in_place
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

from sdk.runtime import ExecuTorchError

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
    torch.complex128,
)
"""The dtypes that OpInfo has samples of."""

RARE_DTYPES = (torch.uint16, torch.uint32, torch.uint64)
"""Dtypes that few operators of PyTorch have; the normal run covers them by probes only."""

_SUMMED_IN_SOME_ORDER = (torch.float16, torch.bfloat16, torch.float32, torch.complex64)

UNDEFINED_VALUES = frozenset({"empty.out", "empty_strided.out", "rand.out", "randn.out", "randperm.out"})
"""Operators whose results have only a defined dtype and shape."""

UNORDERED_INDICES = frozenset(
    {"kthvalue.values", "median.dim_values", "nanmedian.dim_values", "sort.values", "topk.values"}
)
"""Operators whose second result has the indices, along `dim` of `self`, of the values in the first result. If several
elements have this value, any of their indices is right."""

FACTORS = frozenset({"_linalg_eigh.eigenvalues", "_linalg_svd.U"})
"""Factorizations. Each pair of vectors may have either sign, so tests compare products of the vectors and check that
the vectors are orthonormal."""

Tolerance = tuple[float, float]

_EAGERS_ERROR = {f"special_bessel_{name}.out": 1e-6 for name in ("j0", "j1", "y0", "y1")}
_EAGERS_ERROR["special_airy_ai.out"] = 3e-6
"""Eager's own errors in float64, found by comparison with mpmath. They are those of Bessel functions above 5 and of
Airy functions below -2, where eager uses other formulas."""

_DEFAULT_TOLERANCES: dict[torch.dtype, Tolerance] = {
    torch.float16: (1e-5, 1e-3),
    torch.bfloat16: (1e-5, 1.6e-2),
    torch.float32: (1e-5, 1.3e-6),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1e-5, 1.3e-6),
    torch.complex128: (1e-7, 1e-7),
}
"""(atol, rtol) of torch.testing.assert_close."""


class MismatchError(AssertionError):
    """The runtime's result differs from eager's."""


def tolerances(op: OpInfo | None, dtype: torch.dtype) -> dict[torch.dtype, Tolerance]:
    """Returns (atol, rtol) by the dtype of a result: those of assert_close, or larger ones if PyTorch's own tests of
    `op` with samples of `dtype` use them."""
    result = dict(_DEFAULT_TOLERANCES)
    for info in op.decorators if op else ():
        for decorator in getattr(info, "decorators", ()):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d and dtype in result:
                override, (atol, rtol) = decorator.d[dtype], result[dtype]
                result[dtype] = (max(atol, override.atol), max(rtol, override.rtol))
    return result


def record(op: OpInfo, dtype: torch.dtype, limit: int | None) -> Iterator[Call]:
    """Yields the calls of our operators in the first `limit` samples of an OpInfo."""
    torch.manual_seed(0)
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=False), limit):
        with Recorder() as recorder, torch.no_grad():
            op(sample.input, *sample.args, **sample.kwargs)
        yield from recorder.calls


def record_errors(op: OpInfo) -> Iterator[Call]:
    """The calls that an operator of ours must refuse, as eager does."""
    torch.manual_seed(0)
    for error in op.error_inputs("cpu"):
        sample = error.sample_input
        recorder = Recorder()
        try:
            with recorder, torch.no_grad():
                op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            pass  # any type of exception: only the recorded call matters
        yield from (call for call in recorder.calls if call.error is not None)


def check(call: Call, limits: dict[torch.dtype, Tolerance] = _DEFAULT_TOLERANCES) -> None:
    """Raises MismatchError if the runtime's results differ from eager's in value, dtype or shape."""
    assert call.results is not None
    try:
        found = run(call.operator, call.arguments, call.output_specs())
    except ExecuTorchError as error:
        raise MismatchError(f"{call.key()}\nfails: {error}") from None
    pairs = [(ours, theirs) for ours, theirs in zip(found, call.results, strict=True) if theirs is not None]
    if call.name in UNDEFINED_VALUES:
        pairs = [(result.zero_(), expected.new_zeros(expected.shape)) for result, expected in pairs]
    elif call.name in UNORDERED_INDICES:
        # Elements that are equal may come in any order.
        indices = pairs[1][0]
        dim, self = call.arguments.get("dim", -1), call.arguments["self"]
        if self.dim() and not call.arguments.get("keepdim", indices.dim() == self.dim()):
            indices = indices.unsqueeze(dim)
        values = self.to(torch.int64) if self.dtype in RARE_DTYPES else self  # eager cannot gather these dtypes
        chosen = values.gather(dim, indices).to(self.dtype) if self.dim() else self
        pairs[1] = (chosen.reshape(pairs[0][0].shape), pairs[0][1])
    elif call.name in FACTORS and all(result.numel() for result, _ in pairs):
        ours, theirs = zip(*pairs, strict=True)
        pairs = list(zip(products(list(ours)), products(list(theirs)), strict=True))
    exact: list[torch.Tensor] | None = None
    for position, (result, expected) in enumerate(pairs):
        atol, rtol = limits.get(expected.dtype, (0.0, 0.0))
        atol = max(atol, _EAGERS_ERROR.get(call.name, 0.0))
        try:
            torch.testing.assert_close(result, expected, equal_nan=True, check_stride=False, atol=atol, rtol=rtol)
        except AssertionError as error:
            if expected.dtype in _SUMMED_IN_SOME_ORDER and result.shape == expected.shape:
                exact = exact or (_in_double(call) if call.name not in FACTORS else None)
                if exact and is_no_worse(result, expected, exact[position]):
                    continue
            raise MismatchError(f"{call.key()}\nresult {position}: {error}") from None


def products(results: list[torch.Tensor]) -> list[torch.Tensor]:
    """The uniquely defined products of eigenvalues and eigenvectors, or of U, S and V^T."""
    if len(results) == 2:
        values, vectors = results
        return [values, (vectors * values.unsqueeze(-2)) @ vectors.mT, vectors.mT @ vectors]
    u, s, vh = results
    count = s.shape[-1]
    return [s, (u[..., :count] * s.unsqueeze(-2)) @ vh[..., :count, :], u.mT @ u, vh @ vh.mT]


def _in_double(call: Call) -> list[torch.Tensor] | None:
    """Computes the results of eager from float64 copies of all floating-point arguments; None if it does not accept
    them."""

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_complex():
            return tensor.to(torch.complex128)
        return tensor.double() if tensor.is_floating_point() else tensor

    arguments = {name: pytree.tree_map_only(torch.Tensor, widen, value) for name, value in call.arguments.items()}
    try:
        results = [leaf for leaf in pytree.tree_leaves(call.eager(**arguments)) if leaf is not None]
    except Exception:
        return None
    in_place = [arguments[name] for name in written_in_place(call.operator)]
    return in_place if call.operator is call.eager else results + in_place


def is_no_worse(result: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> bool:
    """Sums depend on the order and the width of their partial sums. Our error, compared with float64, may be at most
    that of eager: in 16-bit floats for each element (or one unit in the last place), in float32 up to twice eager's
    largest error, because there the partial sums of both have the same width."""
    ours, theirs = (result.to(exact.dtype) - exact).abs(), (eager.to(exact.dtype) - exact).abs()
    if result.dtype in (torch.float32, torch.complex64):
        return bool(ours.max() <= 2 * theirs.max())
    unit = torch.finfo(result.dtype).eps * exact.abs()
    right = (result == eager) | (result == exact.to(result.dtype)) | (result.isnan() & eager.isnan())
    return bool(((ours <= theirs) | (ours <= unit) | right).all())


def check_refused(call: Call) -> None:
    """Raises MismatchError if the runtime accepts a call that eager refuses, for outputs as large as any input."""
    tensors = call.tensors()
    specs = {OutputSpec.like(tensor) for tensor in tensors} or {OutputSpec(torch.float32, (2, 2), (0, 1))}
    outputs = sum(argument.is_out for argument in call.operator._schema.arguments)
    for spec in specs:
        try:
            run(call.operator, call.arguments, [spec] * outputs)
        except ExecuTorchError:
            continue
        raise MismatchError(f"{call.key()}\nis accepted; eager says: {call.error}")
