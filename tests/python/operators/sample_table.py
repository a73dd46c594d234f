# SPDX-License-Identifier: BSD-3-Clause
"""docs/operator_samples.md: how many of PyTorch's samples are lowered and right, for each operator."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from conformance import tolerances
from sample_program import NOT_CAPTURED, NOT_LOWERED, NOT_RUN, REFUSED, RIGHT, WRONG, Outcome, attempt, samples
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operator_samples.md"

DTYPES = (torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool)

OP_INFOS = [op for op in op_db if not op.name.startswith("jiterator_")]
"""All but the functions for GPUs."""

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
_EIG = "eigenvalues of matrices that are not symmetric, for which there is no kernel"

EXCEPTIONS: dict[str, tuple[str, str]] = {
    "allclose": (NOT_CAPTURED, _ALLCLOSE),
    "bincount": (NOT_LOWERED, _UNBOUNDED),
    "combinations": (NOT_CAPTURED, _SELECTS),
    "corrcoef": (NOT_CAPTURED, _EQUAL),
    "cov": (NOT_CAPTURED, _EQUAL),
    "equal": (NOT_CAPTURED, _EQUAL),
    "linalg.eig": (NOT_LOWERED, _EIG),
    "linalg.eigvals": (NOT_LOWERED, _EIG),
    "linalg.ldl_factor": (NOT_LOWERED, _LDL),
    "linalg.ldl_factor_ex": (NOT_LOWERED, _LDL),
    "linalg.ldl_solve": (NOT_LOWERED, _LDL),
    "linalg.lstsq": (NOT_CAPTURED, _SIZES.format("aten.linalg_lstsq")),
    "linalg.lstsq.grad_oriented": (NOT_CAPTURED, _SIZES.format("aten.linalg_lstsq")),
    "narrow": (NOT_CAPTURED, _OFFSET),
    "nn.functional.ctc_loss": (NOT_CAPTURED, _SIZES.format("aten._ctc_loss")),
    "nn.functional.embedding": (NOT_LOWERED, "`max_norm` changes the weights in each call"),
    "nn.functional.gaussian_nll_loss": (NOT_CAPTURED, _VARIANCE),
    "nn.functional.interpolate.bicubic": (WRONG, "PyTorch's decomposition rounds some uint8 samples otherwise"),
    "nn.functional.one_hot": (NOT_CAPTURED, _CLASSES),
    "sparse.mm.reduce": (NOT_LOWERED, _SPARSE),
    "sparse.sampled_addmm": (NOT_LOWERED, _SPARSE),
    "to_sparse": (NOT_LOWERED, _SPARSE),
}
"""OpInfo -> what becomes of some of its samples, and why. The tests fail where another one is not right."""


def chosen(op: OpInfo, dtype: torch.dtype, limit: int | None, seed: int | None) -> Iterator[tuple[float, Outcome, str]]:
    """The outcomes of `limit` samples, evenly spaced, or of all: how many samples each stands for, what became of it,
    and its arguments."""
    found = list(samples(op, dtype, seed))
    count = len(found) if limit is None else min(limit, len(found))
    limits = tolerances(op, dtype)
    for i in range(count):
        sample = found[i * len(found) // count]
        yield len(found) / count, attempt(op, sample, limits), sample.describe()


Counts = dict[tuple[str, str], collections.Counter[str]]
"""(OpInfo, dtype) -> kind of outcome -> samples."""


def count(ops: Iterable[OpInfo], limit: int | None, seed: int | None) -> Counts:
    """What becomes of the samples of some operators."""
    counts: Counts = {}
    for op in ops:
        for dtype in DTYPES:
            if dtype in op.supported_dtypes("cpu"):
                key = (op.full_name, str(dtype).removeprefix("torch."))
                counts[key] = collections.Counter()
                for weight, outcome, _ in chosen(op, dtype, limit, seed):
                    counts[key][outcome.kind] += weight  # type: ignore[assignment]
    return counts


_HEAD = """# PyTorch's samples of every operator

PyTorch's operator database (OpInfo) has samples of every public function on tensors. Each one that eager computes is
captured with `torch.export`, lowered without a backend, run, and compared with eager: number, dtypes, shapes and
layouts of the results, and their values within the tolerances of PyTorch's tests.

What is not captured is an error of `torch.export` alone, before any code of this package runs; the table names it.

`scripts/operator_samples` writes this page; `tests/python/operators/test_every_operator.py` compares the same samples.

"""


def write_page(counts: Counts, limit: int | None, seeds: Sequence[int]) -> None:
    """Writes the totals by dtype, and the operators of which some samples are not right."""
    by_dtype: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    by_op: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for (name, dtype), outcomes in counts.items():
        by_dtype[dtype].update(outcomes)
        by_dtype["all"].update(outcomes)
        by_op[name].update(outcomes)
    every = "All samples" if limit is None else f"At most {limit} samples of each operator and dtype, evenly spaced,"
    numbers = f"the seeds {', '.join(map(str, seeds))}" if seeds else "PyTorch's tests"
    lines = [
        f"{every} with the random numbers of {numbers}. A sample counts for as many as it stands for.",
        "",
        "| dtype | computed by eager | captured | lowered and right | of the captured | of all |",
        "|---|---|---|---|---|---|",
    ]
    for dtype in [*(str(dtype).removeprefix("torch.") for dtype in DTYPES), "all"]:
        outcomes = by_dtype[dtype]
        computed = sum(outcomes.values()) - outcomes[REFUSED]
        captured, right = computed - outcomes[NOT_CAPTURED], outcomes[RIGHT]
        shares = f"{right / captured:.2%} | {right / computed:.2%}"
        lines.append(f"| {dtype} | {computed:.0f} | {captured:.0f} | {right:.0f} | {shares} |")
    whole = sum(outcomes[RIGHT] + outcomes[REFUSED] == sum(outcomes.values()) for outcomes in by_op.values())
    lines += [
        "",
        f"Of {len(by_op)} functions, all samples of {whole} are right. Of the others:",
        "",
        "| function | right | not captured | not lowered | not run | wrong | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, outcomes in sorted(by_op.items()):
        kinds = (RIGHT, NOT_CAPTURED, NOT_LOWERED, NOT_RUN, WRONG)
        if any(outcomes[kind] for kind in kinds[1:]):
            why = EXCEPTIONS.get(name, ("", "not explained"))[1]
            lines.append(f"| `{name}` | " + " | ".join(f"{outcomes[kind]:.0f}" for kind in kinds) + f" | {why} |")
    PAGE.write_text(_HEAD + "\n".join(lines) + "\n")
