# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's samples of every operator, as torch.export decomposes it: lowered without a backend, run and compared with
eager (docs/generated/operator_samples.md). A normal run takes one sample of a seventh of the operators, and the
gate a share of these; the test marked slow takes all samples of all operators."""

from __future__ import annotations

import pytest
import torch
from conformance import MismatchError, tolerances
from sample_program import REFUSED, RIGHT, Sample, compare, samples
from sample_table import DTYPES, EXCEPTIONS, OP_INFOS, chosen
from torch.testing._internal.opinfo.core import OpInfo

from sdk.exir.operator.convert import to_out_variant
from sdk.exir.operator.kernel_ops import KERNEL_OPS

SHARE = 7


def check(op: OpInfo, dtype: torch.dtype, limit: int | None, seed: int | None = None) -> None:
    expected, _ = EXCEPTIONS.get(op.full_name, (RIGHT, ""))
    wrong = [
        f"{outcome.kind}: {op.full_name}({arguments})\n  {outcome.reason}"
        for _, outcome, arguments in chosen(op, dtype, limit, seed)
        if outcome.kind not in (RIGHT, REFUSED, expected)
    ]
    assert not wrong, "\n".join(wrong[:20])


_SHARE = [(op, DTYPES[i % len(DTYPES)]) for i, op in enumerate(OP_INFOS[::SHARE])]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("op", "dtype"),
    [pair for pair in _SHARE if pair[1] in pair[0].supported_dtypes("cpu")],
    ids=lambda value: value.full_name if isinstance(value, OpInfo) else str(value),
)
def test_a_share_of_the_operators_is_lowered_and_right(op: OpInfo, dtype: torch.dtype) -> None:
    check(op, dtype, 1)


@pytest.mark.slow
@pytest.mark.parametrize("op", OP_INFOS, ids=lambda op: op.full_name)
def test_all_samples_are_lowered_and_right(op: OpInfo) -> None:
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            check(op, dtype, None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("op", OP_INFOS, ids=lambda op: op.full_name)
def test_samples_of_other_seeds_are_lowered_and_right(op: OpInfo, seed: int) -> None:
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            check(op, dtype, 2, seed)


def test_every_exception_is_an_operator() -> None:
    assert set(EXCEPTIONS) <= {op.full_name for op in OP_INFOS}


def test_operators_outside_core_aten_have_kernels() -> None:
    """Every operator that the verifier accepts because of a kernel is in the portable library."""
    from recorder import library_operators

    for op in KERNEL_OPS:
        out, _ = to_out_variant(op)
        assert f"{out._schema.name.removeprefix('aten::')}.{out._overloadname}" in library_operators(), op


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x.double(), "float64"),
        (lambda x: x.unsqueeze(0), r"\[1, 2, 3\]"),
        (lambda x: x + 1e-3, "not close"),
        (lambda x: x.t().contiguous().t(), "strides"),
    ],
)
def test_a_wrong_result_does_not_pass(change: object, words: str) -> None:
    """The dtype, shape, values and layout of each result are compared."""
    (op,) = (op for op in OP_INFOS if op.full_name == "exp")
    sample = Sample(torch.exp, (torch.rand(2, 3),), {})
    expected = sample(*sample.inputs())
    limits = tolerances(op, torch.float32)
    compare(op, sample, [expected.clone()], [expected], limits)
    with pytest.raises(MismatchError, match=words):
        compare(op, sample, [change(expected)], [expected], limits)  # type: ignore[operator]
    with pytest.raises(MismatchError, match="2 results; eager gives 1"):
        compare(op, sample, [expected, expected], [expected], limits)


def test_samples_differ_by_seed() -> None:
    (op,) = (op for op in OP_INFOS if op.full_name == "exp")
    first, again, other = (next(samples(op, torch.float32, seed)).inputs()[0] for seed in (0, 0, 1))
    assert torch.equal(first, again) and not torch.equal(first, other)
