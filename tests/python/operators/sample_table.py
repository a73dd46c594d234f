# SPDX-License-Identifier: BSD-3-Clause
"""The outcomes of PyTorch's samples of an operator, and the operators that are exceptions."""

from __future__ import annotations

import collections
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import torch
from conformance import tolerances
from sample_program import NOT_CAPTURED, NOT_LOWERED, REFUSED, RIGHT, WRONG, Outcome, attempt, samples
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

DTYPES = (torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool)

OP_INFOS = [op for op in op_db if not op.name.startswith("jiterator_")]
"""All functions except those for GPUs."""

_ALLCLOSE = "torch.export: `aten.allclose` gives a Python bool that depends on values (DataDependentOutputException)"
_EQUAL = "torch.export: `aten.equal` gives a Python bool that depends on values (DataDependentOutputException)"
_SELECTS = "torch.export: loses the size of `masked_select` for two elements or more (PendingUnbackedSymbolNotFound)"
_SIZES = "torch.export: has no sizes for the results of `{}` (DynamicOutputShapeException)"
_VARIANCE = "torch.export: its own `if torch.any(var < 0)` depends on values (GuardOnDataDependentSymNode)"
_OFFSET = "torch.export: with a tensor as start, loses the offset of the result (PendingUnbackedSymbolNotFound)"
_CLASSES = "torch.export: without `num_classes` the largest value is the size (GuardOnDataDependentSymNode)"
_UNBOUNDED = "the size of the result depends on values and has no bound; with `torch._check(n <= 64)` it is lowered"
_SPARSE = "sparse tensors, which programs do not have"
_LDL = "Bunch-Kaufman factorization, for which there is no kernel"
_EXPANDED = "a result with a stride of 0 has no dim order; `.contiguous()` gives it one"
_SPLITS = "torch.export: places to split at in a tensor are values (GuardOnDataDependentSymNode)"
_SUMS = "integers as large as 9 in three dimensions: 2 of 360 numbers are 1e-5 off, where PyTorch's tests allow 1.3e-6"
_MAX_NORM = "`max_norm` changes the weights in each call"
_EIG = "eigenvalues of matrices that are not symmetric, for which there is no kernel"

EXCEPTIONS: dict[str, tuple[str, str]] = {
    "allclose": (NOT_CAPTURED, _ALLCLOSE),
    "bincount": (NOT_LOWERED, _UNBOUNDED),
    "combinations": (NOT_CAPTURED, _SELECTS),
    "corrcoef": (NOT_CAPTURED, _EQUAL),
    "cov": (NOT_CAPTURED, _EQUAL),
    "empty_strided": (NOT_LOWERED, _EXPANDED),
    "equal": (NOT_CAPTURED, _EQUAL),
    "fft.hfft2": (WRONG, _SUMS),
    "linalg.eig": (NOT_LOWERED, _EIG),
    "linalg.eigvals": (NOT_LOWERED, _EIG),
    "linalg.ldl_factor": (NOT_LOWERED, _LDL),
    "linalg.ldl_factor_ex": (NOT_LOWERED, _LDL),
    "linalg.ldl_solve": (NOT_LOWERED, _LDL),
    "linalg.lstsq": (NOT_CAPTURED, _SIZES.format("aten.linalg_lstsq")),
    "linalg.lstsq.grad_oriented": (NOT_CAPTURED, _SIZES.format("aten.linalg_lstsq")),
    "narrow": (NOT_CAPTURED, _OFFSET),
    "nn.functional.ctc_loss": (NOT_CAPTURED, _SIZES.format("aten._ctc_loss")),
    "nn.functional.embedding": (NOT_LOWERED, _MAX_NORM),
    "nn.functional.embedding_bag": (NOT_LOWERED, _MAX_NORM),
    "nn.functional.gaussian_nll_loss": (NOT_CAPTURED, _VARIANCE),
    "nn.functional.interpolate.bicubic": (WRONG, "PyTorch's decomposition rounds some uint8 samples otherwise"),
    "nn.functional.one_hot": (NOT_CAPTURED, _CLASSES),
    "repeat_interleave": (NOT_LOWERED, _UNBOUNDED),
    "sparse.mm.reduce": (NOT_LOWERED, _SPARSE),
    "sparse.sampled_addmm": (NOT_LOWERED, _SPARSE),
    "tensor_split": (NOT_CAPTURED, _SPLITS),
    "to_sparse": (NOT_LOWERED, _SPARSE),
}
"""OpInfo -> the outcome of some of its samples, with a reason. The tests fail if another sample is not right."""


def chosen(op: OpInfo, dtype: torch.dtype, limit: int | None, seed: int | None) -> Iterator[tuple[float, Outcome, str]]:
    """Yields the outcomes of `limit` samples, evenly spaced, or of all: how many samples each represents, its outcome,
    and its arguments."""
    found = list(samples(op, dtype, seed))
    count = len(found) if limit is None else min(limit, len(found))
    taken = [found[i * len(found) // count] for i in range(count)]
    for sample, outcome in zip(taken, attempt(op, taken, tolerances(op, dtype)), strict=True):
        yield len(found) / count, outcome, sample.describe()


@dataclass(frozen=True)
class Task:
    """Samples of a function in all dtypes."""

    function: str
    """The full name of the function's OpInfo."""
    seed: int | None
    """Seed of the random numbers; None means those of PyTorch's tests."""
    limit: int | None
    """Upper bound of the number of samples of each dtype; None for all."""


@dataclass
class Result:
    """The outcomes of a task's samples."""

    task: Task
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    """dtype -> kind of outcome -> samples."""
    errors: list[tuple[str, str, str, str]] = field(default_factory=list)
    """dtype, kind, reason and arguments of each sample that is not right, or only in a separate program."""
    seconds: float = 0.0
    failure: str = ""
    """Why there are no counts: the process crashed, or took too long."""

    def line(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(line: str) -> Result:
        fields = json.loads(line)
        return Result(**{**fields, "task": Task(**fields["task"])})


def examine(task: Task) -> Result:
    """Captures, lowers, runs and compares the samples of a task."""
    (op,) = (op for op in OP_INFOS if op.full_name == task.function)
    result = Result(task)
    start = time.monotonic()
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        name = str(dtype).removeprefix("torch.")
        counts: collections.Counter[str] = collections.Counter()
        for weight, outcome, arguments in chosen(op, dtype, task.limit, task.seed):
            counts[outcome.kind] += weight  # type: ignore[assignment]
            if outcome.kind not in (RIGHT, REFUSED) or (outcome.kind == RIGHT and outcome.reason):
                result.errors.append((name, outcome.kind, outcome.reason, arguments))
        result.counts[name] = dict(counts)
    result.seconds = time.monotonic() - start
    return result
